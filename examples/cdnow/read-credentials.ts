import { readFileSync } from 'node:fs'

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

function parse(path: string): Partial<Record<keyof Credentials, unknown>> {
  try {
    return JSON.parse(readFileSync(path, 'utf8')) ?? {}
  } catch (cause) {
    throw new Error(`Cannot read credentials from ${path}: start the service with "npm start".`, {
      cause,
    })
  }
}
