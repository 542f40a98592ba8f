import { RuleInjector } from '../fault-injector.ts'
import { flag, object, text } from '../field-check.ts'
import { createRuleParser, RESPONSE_MEMBERS, type RuleBase } from '../rule-parser.ts'

/** One fault rule, as posted to /_simulator/webhook/faults. Wire names throughout. */
export interface WebhookFaultRule extends RuleBase {
  match?: { url?: string; event_id?: string; type?: string; test?: boolean }
  respond?: { status: number; body?: string; headers?: Record<string, string> }
}

/** A message that passed the checks of a receiver. */
export interface ReceivedMessage {
  /** The address of the endpoint. */
  url: string
  id: string
  receivedAt: Date
  type: string
  isTest: boolean
  /** `data` of the message. */
  data: Record<string, unknown>
  /** Whether the endpoint had a message with this ID. */
  isRepeat: boolean
}

export interface WebhookCandidate {
  url: string
  message: Record<string, unknown>
}

/** The state of the endpoints of the simulator, in memory only. */
export interface WebhookState {
  faults: RuleInjector<WebhookFaultRule, WebhookCandidate>
  /** The newest ones, oldest first. */
  messages: ReceivedMessage[]
  /** Endpoint and ID of the messages that are held. */
  seen: Set<string>
  /** Requests whose signature, time or body was wrong. */
  refusedRequests: number
  /** Secrets of endpoints that have another one than the simulator derives from the address. */
  secrets: Map<string, string[]>
  messagesMax: number
}

export function createWebhookState(messagesMax: number): WebhookState {
  return {
    faults: new RuleInjector(matchesMessage),
    messages: [],
    seen: new Set(),
    refusedRequests: 0,
    secrets: new Map(),
    messagesMax,
  }
}

/** Forgets what was received; faults and secrets stay. Returns the number of messages. */
export function clearMessages(state: WebhookState): number {
  const forgotten = state.messages.length
  state.messages = []
  state.seen.clear()
  state.refusedRequests = 0
  return forgotten
}

export function holdMessage(
  state: WebhookState,
  message: Omit<ReceivedMessage, 'isRepeat'>,
): ReceivedMessage {
  const key = `${message.url} ${message.id}`
  const held = { ...message, isRepeat: state.seen.has(key) }
  state.seen.add(key)
  state.messages.push(held)
  if (state.messages.length > state.messagesMax) {
    const [dropped] = state.messages.splice(0, 1)
    state.seen.delete(`${dropped?.url} ${dropped?.id}`)
  }
  return held
}

/** The events of a message; of an erasure message there are none. */
export function eventsOf(data: Record<string, unknown>): Record<string, unknown>[] {
  return Array.isArray(data.events) ? data.events : []
}

function matchesMessage({ match = {} }: WebhookFaultRule, { url, message }: WebhookCandidate) {
  const { data } = message
  const events = typeof data === 'object' && data !== null ? eventsOf({ ...data }) : []
  return (
    (match.url ?? url) === url &&
    (match.type === undefined || match.type === message.type) &&
    (match.test === undefined || match.test === (message.test === true)) &&
    (match.event_id === undefined || events.some(one => one?.event_id === match.event_id))
  )
}

const URL_LENGTH_MAX = 2_000

/** Parses the body of POST /_simulator/webhook/faults; errors name every invalid field. */
export const parseWebhookFaultRules = createRuleParser<WebhookFaultRule>({
  members: {
    match: object({
      url: text(1, URL_LENGTH_MAX),
      event_id: text(1, 1_000),
      type: text(1, 100),
      test: flag,
    }),
    respond: object(RESPONSE_MEMBERS, ['status']),
  },
})
