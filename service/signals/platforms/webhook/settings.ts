import type { PlatformPlugIn } from '../plug-in.ts'

/** Each destination names its own address, so there is nothing to set. */
export const WEBHOOK_PLUG_IN: PlatformPlugIn = {
  name: 'webhook',
  label: 'Webhook',
  settings: {},
  address: null,
  productionUrl: '',
  load: async () => {
    const { webhookPlatform } = await import('./client.ts')
    return ({ simulatorUrl, timeoutMilliseconds, now }) =>
      webhookPlatform({ simulatorUrl, timeoutMilliseconds, now })
  },
}
