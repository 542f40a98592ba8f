import { readFileSync } from 'node:fs'
import { Signalbox } from '@signalbox/sdk'

/** The members of credentials.json that this example uses. */
export interface Credentials {
  base_url: string
  tracker_secret: string
  simulator_url: string
}

/** Throws an error with one readable sentence if the file cannot be used. */
export function readCredentials(path: string): Credentials {
  const { base_url, tracker_secret, simulator_url } = parse(path)
  if (typeof base_url !== 'string' || typeof tracker_secret !== 'string') {
    throw new Error(`${path} has no credentials of a tracker.`)
  }
  if (typeof simulator_url !== 'string') {
    throw new Error(
      `The tracker of ${path} delivers to a real platform; send these purchases, with their ` +
        'shifted times, to the simulator only.',
    )
  }
  return { base_url, tracker_secret, simulator_url }
}

const RETRIES_MAX = 20
const CALL_MILLISECONDS_MAX = 600_000

/** A client that does not give up soon, because a missing purchase is a difference. */
export function createClient({ base_url, tracker_secret }: Credentials): Signalbox {
  return new Signalbox({
    token: tracker_secret,
    baseUrl: base_url,
    maxRetries: RETRIES_MAX,
    timeout: 30_000,
    totalTimeout: CALL_MILLISECONDS_MAX,
    appInfo: { name: 'cdnow-example', version: '0.5.0' },
  })
}

function parse(path: string): Partial<Record<keyof Credentials, unknown>> {
  try {
    return JSON.parse(readFileSync(path, 'utf8')) ?? {}
  } catch (cause) {
    throw new Error(`Cannot read credentials from ${path}: start the service with "npm start".`, {
      cause,
    })
  }
}
