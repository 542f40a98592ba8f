import { randomInt } from 'node:crypto'
import type {
  Connection,
  OutboundEvent,
  Platform,
  SendAnswer,
  Unavailable,
} from '../../service/signals/platforms/platform.ts'
import { noTinyAnswer, readTinyAnswer } from './tiny-answer.ts'
import { normalizeTinyIdentity } from './tiny-identity.ts'
import { tinyPayload } from './tiny-payload.ts'
import { parseTinyTarget, TINY_TARGET_FIELDS, type TinyTarget } from './tiny-target.ts'

const DAY_SECONDS = 86_400

/** A minimal second platform: see docs/guides/add-a-platform.md. */
export function tinyPlatform({ baseUrl }: { baseUrl: string }): Platform<TinyTarget> {
  return {
    name: 'tiny',
    identityMark: 'xt',
    label: 'Tiny',
    targetFields: TINY_TARGET_FIELDS,
    credentialForms: [{ kind: 'bearer_token', label: 'Key', hint: 'In the board settings.' }],
    consentNeeds: {
      vendor: 'tiny',
      isSocialMedia: false,
      tcfPurposes: [1, 7],
      tcfVendorId: null,
      isAdditionalProvider: false,
      personalization: { refusal: 'restricts', tcfPurposes: [3, 4] },
    },
    batchMax: 50,
    parseTarget: parseTinyTarget,
    normalizeIdentity: normalizeTinyIdentity,
    joinClickIds: () => ({}),
    canMatchPerson: ({ digests }) => digests.person !== undefined,
    windowSeconds: () => 3 * DAY_SECONDS,
    validateEvent: () => null,
    buildBody: (_, events) => tinyPayload(events),
    send: (connection, events) => sendSales(baseUrl, connection, events),
    readDayCounts: async () => NO_REPORTS,
    readMatchQuality: async () => NO_REPORTS,
    matchKeys: [{ key: 'person', from: '`user_data.em`', enoughPercent: 80 }],
    createTestCode: () => `tiny-${randomInt(1_000_000)}`,
    createSimulatorDestination: () => ({ config: { board: 'simulator' }, credential: 'any' }),
  }
}

async function sendSales(
  baseUrl: string,
  { target, accessToken, testCode }: Connection<TinyTarget>,
  events: readonly OutboundEvent[],
): Promise<SendAnswer> {
  try {
    const response = await fetch(`${baseUrl}/boards/${target.board}`, {
      method: 'POST',
      headers: { 'x-tiny-key': accessToken, ...(testCode !== null && { 'x-tiny-test': testCode }) },
      body: JSON.stringify(tinyPayload(events)),
      redirect: 'manual',
      signal: AbortSignal.timeout(5_000),
    })
    await response.body?.cancel()
    return readTinyAnswer(response.status)
  } catch (error) {
    const { code } = (error as { cause?: { code?: string } }).cause ?? {}
    return noTinyAnswer(code === 'ECONNREFUSED' ? 'retry' : 'unknown')
  }
}

const NO_REPORTS: Unavailable = {
  kind: 'unavailable',
  cause: 'unsupported',
  sentence: 'The tiny platform has no reports.',
  waitSeconds: 0,
}
