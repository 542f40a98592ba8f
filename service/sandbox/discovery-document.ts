import type { SandboxDiscovery, SandboxKey } from '@signalbox/contract/sandbox.ts'
import { createSandboxKey, validateSandboxEvent } from '@signalbox/contract/sandbox-operations.ts'

/** What GET /sandbox answers. It holds a key, so that who may only read needs no second call. */
export function discoveryDocument(baseUrl: string, issued_key: SandboxKey): SandboxDiscovery {
  return {
    environment: 'sandbox',
    authentication_required: true,
    account_required: false,
    production_data: false,
    persists_data: false,
    provider_delivery: false,
    description:
      'Validates conversion events as production does, with a key that anybody may take. ' +
      'Nothing is stored and no advertising platform is contacted.',
    self_serve_key: {
      method: createSandboxKey.method,
      url: baseUrl + createSandboxKey.url,
      authentication_required: false,
      description:
        'issued_key works now, until its expires_at. For another one send POST without a body, ' +
        'or GET to the same URL.',
      issued_key,
    },
    try: {
      method: validateSandboxEvent.method,
      url: baseUrl + validateSandboxEvent.url,
      content_type: 'application/json',
      body: {
        event_id: 'sandbox-order-1001',
        event_name: 'Purchase',
        action_source: 'website',
        value_data: { value: '19.95', currency: 'EUR', order_id: '1001' },
      },
    },
  }
}
