import { MessageError, ValidationError } from './errors.ts'
import {
  SandboxDiscovery,
  SandboxEventResult,
  SandboxEventSubmission,
  SandboxKey,
} from './sandbox.ts'

/** Errors of every sandbox operation. */
const REFUSALS = {
  400: MessageError,
  429: MessageError,
  500: MessageError,
  503: MessageError,
} as const

/** Errors of sandbox operations that read a body, besides their own. */
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
 * form. `credential` is what `guardRoutes` checks; the sandbox checks its key itself. Any page may
 * read every response (CORS).
 */
export const sandboxDiscovery = {
  method: 'GET',
  url: '/sandbox',
  config: {
    operationId: 'sandboxDiscovery',
    summary: 'Read about the sandbox, with a key and an example request',
    description:
      'Needs no account and no credential. The included key works immediately, so one request ' +
      'is enough to start.',
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
    summary: 'Get a sandbox key with GET',
    description: 'For agents that can only send GET requests. Every response has a new key.',
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
      'Needs no body, no account and no approval. The key is valid for sandbox validation only, ' +
      'never in production.',
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
      'Runs the validation, the consent decision and the normalization of POST /events, and ' +
      'returns what would happen to the event. It stores nothing and sends nothing.',
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

/** What a response means for the caller, where the status alone is not enough. */
export const SANDBOX_RESPONSE_DESCRIPTIONS: Record<
  SandboxOperation['config']['operationId'],
  Record<number, string>
> = {
  sandboxDiscovery: { 200: 'The sandbox, a valid key, and an example request.' },
  readSandboxKey: { 200: 'A new key.' },
  createSandboxKey: { 201: 'A new key.' },
  validateSandboxEvent: {
    200: 'POST /events would accept the event; `message` describes its outcome.',
    401: 'The sandbox key is missing, altered or expired. Get a new one.',
    422: 'POST /events would reject the event. Errors name every invalid field.',
  },
}
