// fuzz: random documents near the limits; time shapeOf+validate
import { validate, specifiedRules, parse } from 'graphql'
import { shapeOf, parseDocument } from '../../src/api/graphql/limits.ts'
import { testEdge } from './edge.ts'
const { schema } = await testEdge()
let seed = Number(process.argv[2] ?? 1); const rnd = () => { seed = (seed * 1664525 + 1013904223) % 4294967296; return seed / 4294967296 }
const pick = <T,>(a: readonly T[]) => a[Math.floor(rnd() * a.length)]!
const Q = ['listUsers','getAuditLogs','me','listApiKeys','environments','features','listSessions','listWorkspaces','listPersonalKeys']
const types: any = { Query: schema.getQueryType() }
let worst = { ms: 0, doc: '' , s:'' }, accepted = 0, refused = 0, worstRef = {ms:0, doc:'', m:''}
const start = performance.now()
while (performance.now() - start < Number(process.argv[3] ?? 20) * 1000) {
  const dup = pick([1,1,2,3,5,8,15]); const nf = Math.floor(rnd()*rnd()*50); const args = rnd()<.3; const unknown = rnd() < .2 ? .05 : 0; const inl = rnd()*.3
  let budget = 1900
  const sel = (type: any, depth: number, minFrag: number): string => {
    if (type === undefined || !type.getFields) return ''
    const names = Object.keys(type.getFields()); let out = ''
    const n = 1 + Math.floor(rnd() * Math.min(names.length, 6)) * dup
    for (let i = 0; i < n && budget > 0; i++) {
      if (rnd() < unknown) { out += ` u${Math.floor(rnd()*9)}`; budget--; continue }
      if (minFrag < nf && rnd() < .4) { out += ` ...f${minFrag + Math.floor(rnd()*(nf-minFrag))}_${type.name}`; need.add(type.name); budget -= 2; continue }
      const f = type.getFields()[pick(names)]; let t = f.type; while (t.ofType) t = t.ofType
      let body = ''
      if (t.getFields) { if (depth > 10) continue; budget -= 3; const inner = sel(t, depth + 1, minFrag); if (!inner.trim()) continue; body = `{${inner}}` } else budget--
      let a = ''; if (args && f.args.length) { a = '(limit: 1, offset: 2)'; budget -= 8 }
      out += rnd() < inl ? ` ...{ ${f.name}${a}${body} }` : ` ${f.name}${a}${body}`
    }
    return out
  }
  const need = new Set<string>()
  const root = Q.slice(0, 1 + Math.floor(rnd()*9)).map(q => { let t: any = types.Query.getFields()[q].type; while (t.ofType) t = t.ofType; return `${q} {${sel(t, 1, 0) || ' __typename'}}` }).join(' ')
  let frs = ''
  for (const tn of [...need]) for (let i = 0; i < nf; i++) frs += ` fragment f${i}_${tn} on ${tn} {${sel(schema.getType(tn), 1, i + 1) || ' __typename'}}`
  const doc = `{ ${root} }${frs}`
  const t = performance.now()
  try {
    const d = parseDocument(doc); shapeOf(d); const errs = validate(schema, d, specifiedRules, { maxErrors: 20 }); const ms = performance.now() - t; accepted++
    if (ms > worst.ms && accepted > 200) worst = { ms, doc, s: errs[0]?.message ?? 'valid' }
  } catch (e: any) { const ms = performance.now() - t; refused++; if (ms > worstRef.ms && refused > 200) worstRef = { ms, doc, m: e.message } }
}
console.log({ accepted, refused, worst: worst.ms, s: worst.s, worstRef: worstRef.ms, m: worstRef.m }); console.log(worst.doc.length, worst.doc.slice(0, 600))
