import type { SandboxOperation } from '../sandbox-operations.ts'
import type { OperationExamples } from './error-examples.ts'
import { AMBIGUOUS_REQUEST_EXAMPLES, ERROR_EXAMPLES } from './error-examples.ts'

const BASE_URL = 'https://signalbox.example/api/v1'

/** No real one: it bears no signature. */
const API_KEY = 'sbx_test_EXAMPLE.EXAMPLE'

const key = {
  api_key: API_KEY,
  token_type: 'Bearer',
  expires_in: 900,
  expires_at: '2026-11-21T12:15:00.000Z',
  scope: 'sandbox:events.validate',
  production_access: false,
  use: {
    method: 'POST',
    url: `${BASE_URL}/sandbox/keyed-events`,
    authorization: `Bearer ${API_KEY}`,
  },
}

const purchase = {
  event_id: 'sandbox-order-1001',
  event_name: 'Purchase',
  action_source: 'website',
  value_data: { value: '19.95', currency: 'EUR', order_id: '1001' },
}

const discovery = {
  environment: 'sandbox',
  authentication_required: true,
  account_required: false,
  production_data: false,
  persists_data: false,
  provider_delivery: false,
  description:
    'Validates conversion events as production does, with a self-service key. Nothing is stored ' +
    'and no advertising platform is contacted.',
  self_serve_key: {
    method: 'POST',
    url: `${BASE_URL}/sandbox/keys`,
    authentication_required: false,
    description:
      'issued_key works now, until its expires_at. For another one send POST without a body, or ' +
      'GET to the same URL.',
    issued_key: key,
  },
  try: {
    method: 'POST',
    url: `${BASE_URL}/sandbox/keyed-events`,
    content_type: 'application/json',
    body: purchase,
  },
}

const validated = {
  sandbox: true,
  accepted: true,
  status: 'validated',
  persisted: false,
  provider_delivery: false,
}

const DENIED =
  'The consent.ad_user_data field denies: use consent only with granted downstream advertising ' +
  'state.'

const { 400: unreadable, 401: noKey, 413: tooLarge, 415: wrongType, 500: fault } = ERROR_EXAMPLES
const REFUSALS = {
  429: {
    too_fast: {
      summary: 'Rate limit exceeded',
      value: {
        message:
          'Too many requests to the sandbox from this address; wait, then send the same request ' +
          'again.',
      },
    },
  },
  500: fault,
  503: {
    overloaded: {
      summary: 'Too much to do',
      value: { message: 'Too many requests at once; wait, then send the same request again.' },
    },
  },
}
const READ_REFUSALS = { 400: AMBIGUOUS_REQUEST_EXAMPLES, ...REFUSALS }
const BODY_REFUSALS = { 400: unreadable, 413: tooLarge, 415: wrongType, ...REFUSALS }

const ofKey = { key: { summary: 'A key for fifteen minutes', value: key } }

/** A 200 answer of validation bears the name of the request that it answers, and a 422 too. */
export const SANDBOX_EXAMPLES: Record<
  SandboxOperation['config']['operationId'],
  OperationExamples
> = {
  sandboxDiscovery: {
    responses: {
      200: { discovery: { summary: 'All there is to know', value: discovery } },
      ...READ_REFUSALS,
    },
  },
  readSandboxKey: { responses: { 200: ofKey, ...READ_REFUSALS } },
  createSandboxKey: { responses: { 201: ofKey, ...BODY_REFUSALS } },
  validateSandboxEvent: {
    request: {
      purchase: { summary: 'The purchase that discovery says to try', value: purchase },
      with_identity: {
        summary: 'A purchase as POST /events takes it',
        value: {
          ...purchase,
          consent_basis: 'consent',
          consent: { ad_user_data: 'granted', captured_at: '2026-11-21T11:00:00Z' },
          user_data: { em: 'jane@example.com', ph: '0170' },
        },
      },
      denied: {
        summary: 'A purchase whose consent is denied',
        value: { ...purchase, consent: { ad_user_data: 'denied' } },
      },
    },
    responses: {
      200: {
        purchase: {
          summary: 'Valid, but not deliverable',
          value: {
            ...validated,
            event_id: 'sandbox-order-1001',
            message:
              'Valid, assuming consent_basis "consent": production rejects an event without it. ' +
              'Production would store it, but a platform would reject it: its user_data is too ' +
              'weak to match a person. Add an email, phone, or external_id. Nothing was stored ' +
              'or sent.',
          },
        },
        with_identity: {
          summary: 'Valid, with dropped fields',
          value: {
            ...validated,
            event_id: 'sandbox-order-1001',
            message:
              "Valid. Production would store it and deliver it to the tracker's destinations. " +
              '1 identifier would be hashed. Dropped: user_data.ph (This is not a whole phone ' +
              'number. Send it with + and its country code, or add a country). Nothing was ' +
              'stored or sent.',
          },
        },
      },
      ...BODY_REFUSALS,
      401: { unauthenticated: { ...noKey.unauthenticated, summary: 'No valid sandbox key' } },
      422: {
        denied: {
          summary: 'A signal that denies',
          value: { message: DENIED, errors: { 'consent.ad_user_data': [DENIED] } },
        },
      },
    },
  },
}
