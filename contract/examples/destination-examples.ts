import { describeBodyTooLarge } from '../errors.ts'
import { REPLAY_BYTES_MAX } from '../replays.ts'
import type { OperationExamples } from './error-examples.ts'
import { ERROR_EXAMPLES } from './error-examples.ts'

const NO_SUCH_DESTINATION = {
  no_such_destination: {
    summary: 'Not a destination of this tracker',
    value: { message: 'This tracker has no such destination.' },
  },
}

const destination = {
  id: '5b0a64b1-6a04-4c28-9a41-2f0c4a1c7c11',
  workspace_id: 1,
  signal_tracker_id: '0b2e7f3c-5d0e-4f0a-8a63-8a4f2b1c9d10',
  platform_ad_account_id: null,
  type: 'meta',
  credential_source: 'oauth_connection',
  config: {
    dataset_id: '482910375610294',
    test_event_code: 'TEST12345',
    test_mode_until: '2026-11-22T12:00:00.000Z',
    status_reason: null,
  },
  status: 'active',
  created_at: '2026-11-21T12:00:00.000Z',
  updated_at: '2026-11-21T12:00:00.000Z',
}

export const DESTINATION_OFF = {
  ...destination,
  config: { ...destination.config, test_mode_until: null },
}

export const SET_DESTINATION_TEST_MODE_EXAMPLES: OperationExamples = {
  request: {
    on: {
      summary: "Switch it on with the platform's code",
      value: { enabled: true, test_event_code: 'TEST12345' },
    },
    off: { summary: 'Switch it off', value: { enabled: false } },
    clear: {
      summary: 'Switch it off and clear the code',
      value: { enabled: false, test_event_code: null },
    },
  },
  responses: {
    ...ERROR_EXAMPLES,
    200: {
      on: { summary: 'Switched on', value: { destination, test_mode: true } },
      off: { summary: 'Switched off', value: { destination: DESTINATION_OFF, test_mode: false } },
    },
    404: NO_SUCH_DESTINATION,
    422: {
      no_switch: {
        summary: 'It does not say on or off',
        value: {
          message: 'The enabled field is required.',
          errors: { enabled: ['The enabled field is required.'] },
        },
      },
    },
  },
}

export const SEND_TEST_PURCHASE_EXAMPLES: OperationExamples = {
  request: {
    plain: { summary: 'A purchase of 1.00 USD', value: {} },
    with_value: {
      summary: 'A value and an order of your own',
      value: { value: '2.50', currency: 'EUR', order_id: 'test-2026-11-21' },
    },
  },
  responses: {
    ...ERROR_EXAMPLES,
    200: {
      accepted: {
        summary: 'The platform took it',
        value: {
          event_id: 'test_019aa6a5-b000-7f3c-9a41-2f0c4a1c7c11',
          status: 'accepted',
          trace_id: 'AxY7rXp3QvGm0e1dT2nKc5w',
        },
      },
    },
    404: NO_SUCH_DESTINATION,
    422: {
      test_mode_off: {
        summary: 'Test mode is off',
        value: {
          message:
            'Test mode is off. Turn it on with PATCH /destinations/{destination}/test-mode ' +
            'first.',
        },
      },
      wrong_value: {
        summary: 'A wrong field',
        value: {
          message:
            'The value field must be decimal text such as "1.00" without a sign, up to 15 digits ' +
            'and 6 after the point.',
          errors: {
            value: [
              'The value field must be decimal text such as "1.00" without a sign, up to 15 ' +
                'digits and 6 after the point.',
            ],
          },
        },
      },
    },
    502: {
      refused: {
        summary: 'The platform refused the credential',
        value: {
          event_id: 'test_019aa6a5-b000-7f3c-9a41-2f0c4a1c7c11',
          status: 'failed:auth',
          trace_id: 'AxY7rXp3QvGm0e1dT2nKc5w',
        },
      },
    },
  },
}

export const REPLAY_DELIVERIES_EXAMPLES: OperationExamples = {
  request: {
    everything: { summary: 'All failed deliveries', value: {} },
    some: {
      summary: 'Some purchases',
      value: { delivery_ids: [1, 2], event_name: 'Purchase', limit: 100 },
    },
  },
  responses: {
    ...ERROR_EXAMPLES,
    413: {
      too_large: {
        summary: 'Too large',
        value: { message: describeBodyTooLarge(REPLAY_BYTES_MAX) },
      },
    },
    200: {
      nothing: {
        summary: 'Nothing had failed',
        value: { queued: 0, expired: 0, payload_expired: 0, capped: false },
      },
      some: {
        summary: 'Two go out again, one is too old',
        value: { queued: 2, expired: 1, payload_expired: 0, capped: false },
      },
    },
    422: {
      limit_too_high: {
        summary: 'More than one request may ask for',
        value: {
          message: 'The limit field must not be greater than 10000.',
          errors: { limit: ['The limit field must not be greater than 10000.'] },
        },
      },
    },
  },
}
