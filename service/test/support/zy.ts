import { testEdge } from './edge.ts'
import { compileQuery } from 'graphql-jit'
import { parse } from 'graphql'
const row = (id: number) => ({ id, createdDttm: '2026-01-01 00:00:00.000000', updatedDttm: '2026-01-01 00:00:00.000000', workspaceId: 1, workspaceName: 'Demo', actorType: 'user', actorUserId: 3, actorEmail: 'ana@example.com', eventSourceId: 4, eventSource: 'users', eventId: 30, eventType: 'user_invited', metadataJson: { a: 1, email: 'x@example.com' } })
const rows = Array.from({ length: 10_000 }, (_, i) => row(i))
const e = await testEdge()
const F = 'id createdDttm updatedDttm workspaceId workspaceName actorType actorUserId actorEmail eventSourceId eventSource eventId eventType metadataJson'
const al = Array.from({ length: 15 }, (_, i) => `b${i}: metadataJson`).join(' ')
for (const q of [`{ getAuditLogs { ok auditLogs { ${F} } } }`, `{ getAuditLogs { ok auditLogs { ${F} ${al} } } }`]) {
 const t0 = performance.now(); const c: any = compileQuery(e.schema, parse(q), undefined, { disablingCapturingStackErrors: true }); console.log('compile', performance.now() - t0)
 for (let i = 0; i < 4; i++) { const t = performance.now(); const r = await c.query(undefined, { call: () => ({ ok: true, auditLogs: rows, totalCount: 1 }) }, {}); const t1 = performance.now(); const s = JSON.stringify(r); const t2 = performance.now(); Buffer.byteLength(s); const t3=performance.now(); console.log('exec', (t1-t).toFixed(1), 'stringify', (t2-t1).toFixed(1), 'len', (t3-t2).toFixed(1), s.length) }
}
