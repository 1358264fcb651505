import assert from 'node:assert/strict'
import { test } from 'node:test'
import { AppError, ERROR_CODES } from '../domain/errors.ts'
import { retryAfterOf, statusOf } from './status.ts'

test('every code has the status of the contract', () => {
  assert.deepEqual(Object.fromEntries(ERROR_CODES.map((code) => [code, statusOf(code)])), {
    BAD_REQUEST: 400,
    UNAUTHENTICATED: 401,
    FORBIDDEN: 403,
    WORKSPACE_REQUIRED: 400,
    NOT_FOUND: 200,
    INVALID_INPUT: 200,
    CONFLICT: 200,
    FEATURE_DISABLED: 200,
    RATE_LIMITED: 429,
    UNAVAILABLE: 503,
  })
})

test('Retry-After is whole seconds, and only where trying again helps', () => {
  assert.equal(retryAfterOf(new AppError('UNAVAILABLE', '')), 2)
  assert.equal(retryAfterOf(new AppError('RATE_LIMITED', '', { retryAfterSeconds: 0.2 })), 1)
  assert.equal(retryAfterOf(new AppError('FORBIDDEN', '', { retryAfterSeconds: 5 })), null)
})
