// The models behind ports/model.ts: those of providers, and the scripted one that needs nothing.
import type { OpenModel } from '../../ports/model.ts'
import { type ClientOptions, providerModel } from './client.ts'
import { scriptedModel } from './scripted/index.ts'

export const openModel =
  (options: ClientOptions): OpenModel =>
  (family, access) =>
    access === null ? scriptedModel() : providerModel(family, access, options)
