import type { PlatformPlugIn } from '../plug-in.ts'
import { webhookPlatform } from './client.ts'

/** Each destination names its own address, so there is nothing to set. */
export const WEBHOOK_PLUG_IN: PlatformPlugIn = {
  name: 'webhook',
  label: 'Webhook',
  settings: {},
  address: null,
  productionUrl: '',
  create: ({ simulatorUrl, timeoutMilliseconds, now }) =>
    webhookPlatform({ simulatorUrl, timeoutMilliseconds, now }),
}
