import { MessageError, ValidationError } from './errors.ts'
import {
  SandboxDiscovery,
  SandboxEventResult,
  SandboxEventSubmission,
  SandboxKey,
} from './sandbox.ts'

/** What any sandbox operation may be refused with. */
const REFUSALS = {
  400: MessageError,
  429: MessageError,
  500: MessageError,
  503: MessageError,
} as const

/** What a sandbox operation that reads a body may be refused with, besides its own refusals. */
const BODY_REFUSALS = {
  413: MessageError,
  415: MessageError,
  ...REFUSALS,
} as const

/** OpenAPI, Security Requirement: none at all. */
const NO_CREDENTIAL: readonly Record<string, readonly string[]>[] = []
const SANDBOX_KEY: readonly Record<string, readonly string[]>[] = [{ sandboxKey: [] }]

/**
 * The operations of the sandbox. They are not among the ten of the REST contract, and have the same
 * form. `credential` is what `guardRoutes` asks for; the sandbox asks for its key itself. Open to
 * browsers: any page may read every answer (CORS).
 */
export const sandboxDiscovery = {
  method: 'GET',
  url: '/sandbox',
  config: {
    operationId: 'sandboxDiscovery',
    summary: 'What the sandbox is, with a key and a request to try',
    description:
      'Needs no account and no credential. The key in it works at once, so one read is enough ' +
      'to begin.',
    tag: 'Sandbox',
    credential: 'none',
    security: NO_CREDENTIAL,
    isOpenToBrowsers: true,
    requestHeaders: [],
    responseHeaders: [],
  },
  schema: { response: { 200: SandboxDiscovery, ...REFUSALS } },
} as const

export const readSandboxKey = {
  method: 'GET',
  url: '/sandbox/keys',
  config: {
    operationId: 'readSandboxKey',
    summary: 'Get a sandbox key by reading',
    description: 'For agents that may only read. Every answer holds a new key.',
    tag: 'Sandbox',
    credential: 'none',
    security: NO_CREDENTIAL,
    isOpenToBrowsers: true,
    requestHeaders: [],
    responseHeaders: [],
  },
  schema: { response: { 200: SandboxKey, ...REFUSALS } },
} as const

export const createSandboxKey = {
  method: 'POST',
  url: '/sandbox/keys',
  config: {
    operationId: 'createSandboxKey',
    summary: 'Get a sandbox key',
    description:
      'Needs no body, no account and nobody to approve it. The key opens the validation of the ' +
      'sandbox and nothing of production.',
    tag: 'Sandbox',
    credential: 'none',
    security: NO_CREDENTIAL,
    isOpenToBrowsers: true,
    requestHeaders: [],
    responseHeaders: [],
  },
  schema: { response: { 201: SandboxKey, ...BODY_REFUSALS } },
} as const

export const validateSandboxEvent = {
  method: 'POST',
  url: '/sandbox/keyed-events',
  config: {
    operationId: 'validateSandboxEvent',
    summary: 'Validate one conversion event',
    description:
      'Runs the validation, the consent decision and the normalisation of POST /events, and says ' +
      'what would become of the event. It stores nothing and sends nothing.',
    tag: 'Sandbox',
    credential: 'none',
    security: SANDBOX_KEY,
    isOpenToBrowsers: true,
    requestHeaders: ['Idempotency-Key'],
    responseHeaders: [],
  },
  schema: {
    body: SandboxEventSubmission,
    response: {
      200: SandboxEventResult,
      ...BODY_REFUSALS,
      401: MessageError,
      422: ValidationError,
    },
  },
} as const

export const SANDBOX_OPERATIONS = [
  sandboxDiscovery,
  readSandboxKey,
  createSandboxKey,
  validateSandboxEvent,
] as const
export type SandboxOperation = (typeof SANDBOX_OPERATIONS)[number]

/** What an answer means for the caller, where the statuses alone do not say it. */
export const SANDBOX_RESPONSE_DESCRIPTIONS: Record<
  SandboxOperation['config']['operationId'],
  Record<number, string>
> = {
  sandboxDiscovery: { 200: 'The sandbox, a key that works now, and a request to try it with.' },
  readSandboxKey: { 200: 'A new key.' },
  createSandboxKey: { 201: 'A new key.' },
  validateSandboxEvent: {
    200: 'POST /events would accept the event; `message` describes its outcome.',
    401: 'The sandbox key is missing, altered or expired. Get a new one.',
    422: 'POST /events would reject the event. Errors name every invalid field.',
  },
}
