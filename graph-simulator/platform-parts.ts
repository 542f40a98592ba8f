import { createConversionPart } from './conversion-platform.ts'
import { GOOGLE_CONTROLS } from './google-ads/google-controls.ts'
import { answerGoogle, isGooglePath } from './google-ads/google-routes.ts'
import type { HttpExchange } from './http-messages.ts'
import { LINKEDIN } from './linkedin/linkedin-platform.ts'
import { MICROSOFT_ADS } from './microsoft-ads/microsoft-ads-platform.ts'
import { OPENAI_ADS } from './openai-ads/openai-ads-platform.ts'
import { PINTEREST } from './pinterest/pinterest-platform.ts'
import { REDDIT } from './reddit/reddit-platform.ts'
import type { ControlHandler, SimulatorState } from './simulator-state.ts'
import { SNAPCHAT } from './snapchat/snapchat-platform.ts'
import { TIKTOK } from './tiktok/tiktok-platform.ts'
import { WEBHOOK_CONTROLS } from './webhook/webhook-controls.ts'
import { answerWebhook, isWebhookPath } from './webhook/webhook-routes.ts'

/** A platform beside the Graph API: its addresses on the same port, and its controls. */
interface PlatformPart {
  serves(path: string): boolean
  answer(state: SimulatorState, exchange: HttpExchange): Promise<void>
  controls: Record<string, Record<string, ControlHandler>>
}

/** One line for each. The Graph API answers every other address. */
export const PLATFORM_PARTS: readonly PlatformPart[] = [
  { serves: isGooglePath, answer: answerGoogle, controls: GOOGLE_CONTROLS },
  createConversionPart(PINTEREST),
  createConversionPart(TIKTOK),
  createConversionPart(SNAPCHAT),
  createConversionPart(OPENAI_ADS),
  createConversionPart(LINKEDIN),
  createConversionPart(REDDIT),
  createConversionPart(MICROSOFT_ADS),
  { serves: isWebhookPath, answer: answerWebhook, controls: WEBHOOK_CONTROLS },
]
