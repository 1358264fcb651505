// What all incident services have in common: one incident is open for a schedule and an entry at most. Which one it is, is
// known from what earlier deliveries of the line gave back; whether it is still open is asked, because people close incidents
// too, and the next failure after that is news again.
import type { Further, IncidentNews } from '../../domain/messages/incident.ts'
import { addFailure, NO_FURTHER } from '../../domain/messages/incident.ts'
import type { Outgoing, SendResult } from '../../ports/channel.ts'
import type { ApiAnswer } from './api.ts'
import { delivered } from './api.ts'

export interface KnownIncident {
  readonly id: string
  /** How the first failure was told, and which came after it: for services whose text is written whole. */
  readonly first: string
  readonly further: Further
}

/** What one service does. Each call may be repeated after a lost answer. */
export interface IncidentService<Entry> {
  /** Whether the credentials are good. Opens nothing. */
  test(): Promise<ApiAnswer>
  isOpen(id: string): Promise<boolean>
  open(news: IncidentNews<Entry>): Promise<Opened>
  /** @param known with the failure that is added */
  add(known: KnownIncident, news: IncidentNews<Entry>): Promise<ApiAnswer>
  close(known: KnownIncident, news: IncidentNews<Entry>): Promise<ApiAnswer>
}

export interface Opened {
  readonly answer: ApiAnswer
  readonly incident: KnownIncident
}

export async function tell<Entry>(service: IncidentService<Entry>, out: Outgoing): Promise<SendResult> {
  if (out.event === 'test') return delivered(await service.test())
  const news = out.body as IncidentNews<Entry>
  const known = knownIncident(out)
  const going = known !== null && (await service.isOpen(known.id)) ? known : null
  if (out.event === 'passed') {
    // Nothing was opened, or somebody closed it.
    if (going === null) return { ...delivered(null, { open: false }), answer: 'No incident was open.' }
    return delivered(await service.close(going, news), { ...going, open: false })
  }
  if (going === null) {
    const { answer, incident } = await service.open(news)
    return delivered(answer, { ...incident, open: true })
  }
  const longer = { ...going, further: addFailure(going.further, news.report) }
  return delivered(await service.add(longer, news), { ...longer, open: true })
}

function knownIncident(out: Outgoing): KnownIncident | null {
  const last = out.earlier.at(-1)?.result
  if (last === undefined || last.open !== true || typeof last.id !== 'string') return null
  return {
    id: last.id,
    first: typeof last.first === 'string' ? last.first : '',
    further: isFurther(last.further) ? last.further : NO_FURTHER,
  }
}

const isFurther = (value: unknown): value is Further =>
  typeof value === 'object' && value !== null && Array.isArray((value as { latest?: unknown }).latest)
