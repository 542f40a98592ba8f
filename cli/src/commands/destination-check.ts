import type { EventList, ReconciliationReport } from '@signalbox/sdk'
import { EXIT_CODES } from '../exit-codes.ts'
import { printable } from '../output/style.ts'
import type { Check } from './doctor.ts'

const NAME = 'Destination'

/** What the newest events and yesterday's report say about the destinations of the tracker. */
export function checkDestination(
  { events, metrics }: EventList,
  reports: readonly ReconciliationReport[],
): Check {
  const inactive = reports.find(({ destination }) => destination?.status === 'inactive')
  if (inactive) {
    const { id, config } = inactive.destination
    const reason = printable(String(config?.status_reason ?? 'unknown'))
    return failed(`${id} is inactive: ${reason}.`, 'Replace its token in the dashboard.')
  }
  const deliveries = events.data.flatMap(event => event.deliveries ?? [])
  const [newest] = deliveries
  if (newest === undefined) {
    return warning('No event was planned for one yet.', 'Send one: signalbox events create --help')
  }
  if (newest.status === 'skipped:no_destination') {
    return failed('The tracker has none.', 'Connect one in the dashboard, under Destinations.')
  }
  if (newest.status.startsWith('failed')) {
    const hint = `Why: signalbox events get ${printable(newest.event_id)}`
    return failed(`The newest delivery is ${printable(newest.status)}.`, hint)
  }
  const test = reports.find(({ destination }) => destination?.config?.test_mode_until)
  if (test || newest.is_test) {
    const id = test?.destination_id ?? newest.destination_id
    const hint = `Turn it off: signalbox destinations test-mode ${id} off`
    return warning('Test mode is on, so events do not count.', hint)
  }
  const rate = metrics?.acceptance_rate
  const accepted =
    typeof rate === 'number' ? ` ${(rate * 100).toFixed(1)} % accepted in 7 days.` : ''
  const message = `The newest delivery is ${printable(newest.status)}.${accepted}`
  return { name: NAME, state: 'ok', message, hint: null, exitCode: EXIT_CODES.success }
}

function warning(message: string, hint: string): Check {
  return { name: NAME, state: 'warning', message, hint, exitCode: EXIT_CODES.success }
}

function failed(message: string, hint: string): Check {
  return { name: NAME, state: 'failed', message, hint, exitCode: EXIT_CODES.failure }
}
