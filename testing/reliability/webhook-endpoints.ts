import { registerHooks } from 'node:module'

/**
 * Loaded into a service process with `--import`, before the program. The simulator then stands for
 * every endpoint of webhooks, as in `npm start`: the roles of production reach public addresses
 * only, and no setting lets them reach another.
 */
const PLUG_IN = /\/platforms\/webhook\/settings\.ts$/
const SENDS_ITSELF = 'webhookPlatform({ simulatorUrl,'

const url = process.env.RELIABILITY_WEBHOOK_URL
if (url !== undefined) {
  registerHooks({
    load(address, context, nextLoad) {
      const loaded = nextLoad(address, context)
      if (!PLUG_IN.test(address)) return loaded
      const source = String(loaded.source)
      if (!source.includes(SENDS_ITSELF)) throw new Error('the plug-in of webhooks has changed')
      const simulated = `webhookPlatform({ simulatorUrl: ${JSON.stringify(url)},`
      return { ...loaded, source: source.replace(SENDS_ITSELF, simulated) }
    },
  })
}
