import { isMember, keysOf } from '@signalbox/contract/closed-set.ts'
import { describeConsentOutcome, describeConsentReason } from '@signalbox/contract/consent-texts.ts'
import type { ConsentOutcome } from '@signalbox/contract/reasons.ts'
import type { Event, EventDetail, ExplainedDelivery, LineageEvent } from '@signalbox/sdk'
import { isObject, objectOrEmpty } from '../../../../service/runtime/util/is-object.ts'
import type { CommandContext } from '../command-context.ts'
import { type Color, colorOfStatus, printable, type Style } from '../output/style.ts'
import { formatFacts, Table } from '../output/table.ts'
import { formatAge, formatTime } from '../output/times.ts'

/** An event as a person reads it: what it is, whether it may be used, and what happened to it. */
export function formatEvent(detail: EventDetail, context: CommandContext): string {
  const { event } = detail
  const { style } = context
  const amount = formatAmount(event)
  const title = [style('bold', printable(event.event_name)), printable(event.id), amount]
  return [
    `${title.filter(text => text !== '').join('  ')}\n`,
    formatFacts(eventFacts(event, context.host.now()), style),
    `\n${style('bold', 'Consent')}\n`,
    formatConsent(event, style),
    formatDeliveries(detail, context),
    formatOrder(detail, context),
    formatLineage(detail, style),
  ].join('')
}

/** `19.95 EUR`, with exactly the digits that were sent. */
export function formatAmount({
  value_amount: amount,
  value_currency: currency,
}: LineageEvent): string {
  return amount === null || amount === undefined
    ? ''
    : printable(`${amount} ${currency ?? ''}`.trim())
}

function eventFacts(event: Event, now: Date): [string, string][] {
  const time = (text: string) => `${formatTime(text)} UTC (${formatAge(text, now)})`
  const facts: [string, string][] = [
    ['Happened', time(event.event_time)],
    ['Stored', time(event.created_at)],
    ['Where', event.action_source],
    ['Page', event.event_source ?? ''],
    ['Order', event.order_id ?? ''],
    ['Identifiers', event.payload_expired ? 'expired' : namesOf(event.user_data_hashed)],
    ['Click IDs', namesOf(event.click_ids)],
  ]
  return facts.filter(([, text]) => text !== '' && text !== undefined)
}

function namesOf(members: Record<string, unknown> | null): string {
  return Object.keys(members ?? {}).join(', ')
}

const OUTCOME_COLORS: Record<ConsentOutcome, Color> = {
  granted: 'green',
  withheld: 'yellow',
  ledger_only: 'dim',
}

/** The decision with its reason, as stored with the event. */
function formatConsent({ consent, consent_basis: basis }: Event, style: Style): string {
  const decision = objectOrEmpty(consent?.decision)
  const outcome = String(decision.outcome ?? 'unknown')
  const reason = String(decision.reason ?? 'unknown')
  const color = isMember(keysOf(OUTCOME_COLORS), outcome) ? OUTCOME_COLORS[outcome] : 'yellow'
  const sentence = describeConsentOutcome(outcome) ?? `${printable(outcome)}.`
  const facts: [string, string][] = [
    ['Reason', reason],
    ['Basis', String(basis)],
    ...readSignals(decision),
    ...readPlatforms(decision),
  ]
  if (typeof decision.captured_at === 'string') {
    facts.push(['Given', `${formatTime(decision.captured_at)} UTC`])
  }
  const explained = [style(color, sentence), describeConsentReason(reason) ?? ''].filter(
    text => text !== '',
  )
  return `  ${explained.join(' ')}\n${formatFacts(facts, style)}`
}

/** The inputs that said something, such as `consent: granted`. */
function readSignals({ inputs }: Record<string, unknown>): [string, string][] {
  if (!isObject(inputs)) return []
  return Object.values(inputs)
    .filter(isObject)
    .filter(({ why }) => why !== undefined && why !== 'no_signal' && why !== 'not_read')
    .map(({ field, state, why }) => [String(field), `${state} (${why})`])
}

/** The platforms that are decided otherwise than the event. */
function readPlatforms({ platforms }: Record<string, unknown>): [string, string][] {
  if (!isObject(platforms)) return []
  return Object.entries(platforms).map(([platform, own]) => {
    const { outcome, reason, field } = objectOrEmpty(own)
    return [platform, `${outcome} (${field ?? reason})`]
  })
}

/** Each delivery with its explanation and the requests that carried the event. */
export function formatDeliveries(
  { deliveries = [] }: Pick<EventDetail, 'deliveries'>,
  { style, host }: CommandContext,
): string {
  if (deliveries.length === 0) return `\n${style('bold', 'Delivery')}\n  None was planned.\n`
  return deliveries
    .map(delivery => {
      const target = delivery.destination_id ? ` to ${printable(delivery.destination_id)}` : ''
      const status = style(colorOfStatus(delivery.status), printable(delivery.status))
      const test = delivery.is_test ? ' (test event)' : ''
      return [
        `\n${style('bold', `Delivery${target}`)}  ${status}${test}\n`,
        `${wrap(printable(delivery.explanation ?? ''), host.stdout.width() ?? 100)}\n`,
        formatAttempts(delivery, style),
      ].join('')
    })
    .join('')
}

function formatAttempts({ platform_response: response }: ExplainedDelivery, style: Style): string {
  const attempts = Array.isArray(response?.attempts) ? response.attempts.filter(isObject) : []
  if (attempts.length === 0) return ''
  const columns = [
    { title: '  Attempt (UTC)' },
    { title: 'Outcome' },
    { title: 'HTTP', align: 'right' },
    { title: 'Duration', align: 'right' },
    { title: 'Trace' },
  ] as const
  const rows = attempts.map(attempt => [
    `  ${formatTime(String(attempt.started_at))}`,
    String(attempt.class ?? '-'),
    String(attempt.http_status ?? '-'),
    `${attempt.duration_milliseconds ?? '-'} ms`,
    String(attempt.trace_id ?? '-'),
  ])
  return new Table(columns, { style, width: null }).format(rows)
}

/** The net value of the order, and what each platform was told of it. */
function formatOrder({ order }: EventDetail, { style, host }: CommandContext): string {
  if (!order) return ''
  const width = host.stdout.width() ?? 100
  const { currency, net_value: net, platforms } = order
  const value = net === null ? '' : `  ${printable(`${net} ${currency ?? ''}`.trim())}`
  const told = platforms.map(({ platform, value_amount: amount, value_currency, explanation }) => {
    const own = amount === null ? 'nothing' : `${amount} ${value_currency ?? ''}`.trim()
    return wrap(printable(`${platform}: ${own}. ${explanation}`), width)
  })
  const texts = [wrap(printable(order.explanation), width), ...told]
  return `\n${style('bold', 'Order')}${value}\n${texts.map(text => `${text}\n`).join('')}`
}

function formatLineage({ lineage }: EventDetail, style: Style): string {
  const { parent = null, children = [] } = lineage ?? {}
  const describe = (event: LineageEvent) =>
    [printable(event.event_name), printable(event.id), formatAmount(event)].join('  ').trimEnd()
  const lines = [
    ...(parent ? [`  parent  ${describe(parent)}`] : []),
    ...children.map(child => `  child   ${describe(child)}`),
  ]
  if (lines.length === 0) return ''
  return `\n${style('bold', 'Lineage')}\n${lines.map(line => `${line}\n`).join('')}`
}

/** Whether all deliveries were accepted, and there was one. */
export function isDelivered({ deliveries = [] }: Pick<EventDetail, 'deliveries'>): boolean {
  return deliveries.length > 0 && deliveries.every(({ status }) => status === 'accepted')
}

/** The first status that is not accepted, else the first; undefined without a delivery. */
export function worstStatus({ deliveries }: Pick<Event, 'deliveries'>): string | undefined {
  const statuses = (deliveries ?? []).map(({ status }) => status)
  return statuses.find(status => status !== 'accepted') ?? statuses[0]
}

/** Two spaces before each line, and no line wider than the terminal. */
function wrap(text: string, width: number): string {
  const lines = ['']
  for (const word of text.split(' ')) {
    const line = lines.at(-1) ?? ''
    if (line !== '' && line.length + word.length + 3 > width) lines.push(word)
    else lines[lines.length - 1] = line === '' ? word : `${line} ${word}`
  }
  return lines.map(line => `  ${line}`).join('\n')
}
