import type { ControlHandler } from './control-routes.ts'
import { GOOGLE_CONTROLS } from './google-ads/google-controls.ts'
import { answerGoogle, isGooglePath } from './google-ads/google-routes.ts'
import { createGoogleState, type GoogleState } from './google-ads/google-state.ts'
import type { HttpExchange } from './http-messages.ts'
import type { SimulatorState } from './simulator-state.ts'

/** A platform beside the Graph API: its addresses on the same port, and its controls. */
interface PlatformPart {
  serves(path: string): boolean
  answer(state: SimulatorState, exchange: HttpExchange): Promise<void>
  controls: Record<string, Record<string, ControlHandler>>
}

/** One line for each. The Graph API answers every other address. */
export const PLATFORM_PARTS: readonly PlatformPart[] = [
  { serves: isGooglePath, answer: answerGoogle, controls: GOOGLE_CONTROLS },
]

/** What each keeps. They share only the clock and the revoked tokens with the Graph API. */
export interface PlatformStates {
  google: GoogleState
}

export function createPlatformStates(eventsMax: number): PlatformStates {
  return { google: createGoogleState(eventsMax) }
}
