import {
  checkEvent as check,
  type EventCheck,
} from '../../../../service/signals/ingestion/check-event.ts'
import { createOfflinePlatforms } from '../../../../service/signals/platforms/registry.ts'
import type { EventBody } from '../event-fields.ts'
import { printable, type Style } from '../output/style.ts'

const known = createOfflinePlatforms()
/** Which platforms the tracker sends to is not known here: most send to this one. */
const platforms = known.select([known.default.name])

/** What only the service knows. A dry run sends nothing, so it does not ask. */
export const NOT_CHECKED = ['consent_categories', 'settings', 'withdrawals', 'stored_events']

export const NOT_CHECKED_NOTE =
  'Not checked, because only the service knows them: consent categories of the tracker, settings ' +
  'of the service, withdrawals, and events stored before.\n'

/** What the service would do with an event, by its own rules. */
export function checkEvent(event: EventBody, now: Date): EventCheck {
  return check(event, { platforms, now })
}

export function formatEventCheck(check: EventCheck, style: Style): string {
  const { isValid, errors, isPastWindow, isWithheld, notices } = check
  if (!isValid) {
    const lines = Object.entries(errors).flatMap(([field, sentences]) =>
      sentences.map(sentence => `  ${style('bold', field)}  ${sentence}\n`),
    )
    return `${style('red', '✗')} The service would refuse it.\n${lines.join('')}`
  }
  const notes = [
    isPastWindow ? 'It is too old for the platform, so it would not be delivered.' : '',
    isWithheld ? 'Its consent does not allow a delivery.' : '',
  ].filter(text => text !== '')
  const dropped = notices.map(({ message }) => `${style('yellow', '!')} ${printable(message)}\n`)
  const summary = [`${style('green', '✓')} The service would store it.`, ...notes].join(' ')
  return `${summary}\n${dropped.join('')}`
}
