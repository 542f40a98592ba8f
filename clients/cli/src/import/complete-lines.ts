import { fitEvent } from '../../../../examples/migrate/fit-event.ts'
import { type EventBody, hashIdentifiers, hasMember, setMember } from '../event-fields.ts'
import type { ImportTally } from './import-tally.ts'
import type { EventLine } from './read-events.ts'

interface Completion {
  /** SHA-256 of the file, as hexadecimal digits. */
  digest: string
  defaults: ReadonlyMap<string, unknown>
  tally: ImportTally
}

/**
 * Each event with the members of the options, digests instead of identifiers, and an id. The id of
 * a line without one comes from the file and the line, so that a second run doubles nothing. What
 * the service would refuse although the event is clear without it is left out and counted.
 */
export async function* completeLines(
  lines: AsyncIterable<EventLine>,
  { digest, defaults, tally }: Completion,
): AsyncGenerator<EventLine> {
  for await (const line of lines) {
    if (line.event === null) {
      yield line
      continue
    }
    const { event, number } = line
    try {
      fillIn(event, defaults)
    } catch (error) {
      yield { number, event: null, problem: (error as Error).message, text: JSON.stringify(event) }
      continue
    }
    const fitted = fitEvent(event)
    if (!hasMember(fitted.event, 'event_id')) {
      setMember(fitted.event, 'event_id', `line_${digest.slice(0, 24)}_${number}`)
    }
    for (const loss of fitted.dropped) tally.add({ code: 'member_dropped', ...loss }, number)
    yield { number, event: await hashIdentifiers(fitted.event), problem: null }
  }
}

/** An option about consent never joins the consent that a line has itself. */
function fillIn(event: EventBody, defaults: ReadonlyMap<string, unknown>): void {
  const hasConsent = ['consent', 'consent_mode', 'tcf'].some(name => hasMember(event, name))
  for (const [member, value] of defaults) {
    if (hasConsent && member.startsWith('consent.')) continue
    if (!hasMember(event, member)) setMember(event, member, value)
  }
}
