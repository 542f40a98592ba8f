import { AccessTokens } from './access-tokens/client.ts'
import { redactSecrets } from './client.ts'
import type { OutboundEvent, Platform, SendAnswer } from './platform.ts'
import type { PlugInContext } from './plug-in.ts'
import { PLATFORM_PLUG_INS } from './plug-ins.ts'

/**
 * The clients of all platforms, which are loaded with this file: 70 modules. What needs only names,
 * addresses and settings imports `plug-ins.ts`.
 */
const creators = await Promise.all(PLATFORM_PLUG_INS.map(({ load }) => load()))

export function createPlatforms(context: PlugInContext): PlatformRegistry {
  const platforms = creators.map(create => withRedactedAnswers(create(context)))
  return new PlatformRegistry(platforms, new AccessTokens(context))
}

/** The platforms at the simulator, with the defaults of their settings. */
export function createSimulatorPlatforms(
  options: Omit<PlugInContext, 'settings'>,
): PlatformRegistry {
  return createPlatforms({ ...options, settings: { pluginValues: {} } })
}

/** The platforms for a process that does not send events. */
export function createOfflinePlatforms(): PlatformRegistry {
  return createSimulatorPlatforms({
    simulatorUrl: null,
    timeoutMilliseconds: 1,
    now: () => new Date(0),
  })
}

/** Some platforms, such as those of a tracker. */
export type SelectedPlatforms = Pick<PlatformRegistry, 'all' | 'default' | 'names'>

/** For platforms that send nothing. */
const NO_CLOCK = { now: () => new Date(0), timeoutMilliseconds: 1 }

/** The platforms that this process knows, by name. */
export class PlatformRegistry {
  readonly all: readonly Platform[]
  /** Of every plug-in, selected or not. */
  readonly names: ReadonlySet<string>
  /** For a destination that names no platform, and for events of trackers without destinations. */
  readonly default: Platform
  /** The minted access tokens of this process. */
  readonly accessTokens: AccessTokens

  constructor(platforms: readonly Platform[], accessTokens = new AccessTokens(NO_CLOCK)) {
    const [first] = platforms
    if (!first) throw new Error('a registry needs a platform')
    const names = new Set(platforms.map(({ name }) => name))
    if (names.size < platforms.length) throw new Error('two platforms have one name')
    const marks = new Set(platforms.map(({ identityMark }) => identityMark))
    if (marks.size < platforms.length) throw new Error('two platforms have one identity mark')
    this.all = platforms
    this.names = names
    this.default = first
    this.accessTokens = accessTokens
  }

  /** Null if no plug-in of this process has this name. */
  find(name: string): Platform | null {
    return this.all.find(platform => platform.name === name) ?? null
  }

  /**
   * The platforms with these names that are known here, in their order. The default stays where it
   * is one of them: the version before reads the identity of an event as the default's.
   */
  select(names: Iterable<string>): SelectedPlatforms {
    const all = [...new Set(names)].flatMap(name => this.find(name) ?? [])
    const isDefaultSelected = all.some(({ name }) => name === this.default.name)
    const { names: known } = this
    return { all, default: (isDefaultSelected ? null : all[0]) ?? this.default, names: known }
  }

  /** A registry of the same platforms, each wrapped. */
  map(wrap: (platform: Platform) => Platform): PlatformRegistry {
    return new PlatformRegistry(this.all.map(wrap), this.accessTokens)
  }
}

/**
 * The same platform with answers that hold neither its access token nor what was sent: answers are
 * stored, shown and exported. Every plug-in is wrapped once, so a new one needs no code for this.
 */
export function withRedactedAnswers(platform: Platform): Platform {
  const { sendErasure, readReceipt } = platform
  const redact = <Answer>(answer: Answer, { accessToken }: { accessToken: string }): Answer =>
    redactSecrets(answer, [accessToken])
  return {
    ...platform,
    send: async (connection, events) => {
      const answer = redactSentValues(await platform.send(connection, events), events)
      return redact(redactSecretQuery(answer, platform), connection)
    },
    ...(sendErasure && {
      sendErasure: async (credentials, erasure) =>
        redact(await sendErasure(credentials, erasure), credentials),
    }),
    ...(readReceipt && {
      readReceipt: async (credentials, receiptId) =>
        redact(await readReceipt(credentials, receiptId), credentials),
    }),
    readDayCounts: async (credentials, day, source) =>
      redact(await platform.readDayCounts(credentials, day, source), credentials),
    readMatchQuality: async credentials =>
      redact(await platform.readMatchQuality(credentials), credentials),
  }
}

const REDACTED = 'REDACTED'

/** A platform whose secret is in the URL may repeat the URL in its answer, or an error may. */
export function redactSecretQuery(
  answer: SendAnswer,
  { secretQueryMembers = [] }: Pick<Platform, 'secretQueryMembers'>,
): SendAnswer {
  if (secretQueryMembers.length === 0) return answer
  const names = secretQueryMembers.map(name => RegExp.escape(name)).join('|')
  const value = new RegExp(`(?<=(?:^|[?&;\\s"])(?:${names})=)[^&\\s"]+`, 'gi')
  return redactStrings(answer, [value])
}

/** Shorter values occur in ordinary words and do not identify a person. */
const VALUE_CHARACTERS_MIN = 6
/** An adapter may have truncated a text of this length in the middle of a value. */
const WHOLE_CHARACTERS_MAX = 499

/**
 * The answer without the identifiers that were sent, in case the platform repeats them. One answer
 * is stored for all events of a request, among them deliveries of other people, where the erasure
 * of one person would not find it.
 */
export function redactSentValues(answer: SendAnswer, events: readonly OutboundEvent[]): SendAnswer {
  if (!hasFreeText(answer)) return answer
  const text = JSON.stringify([answer.traceId, answer.error, answer.answer, answer.events])
  const lower = text.toLowerCase()
  const patterns = [...collectSentValues(events)]
    .filter(value => lower.includes(escapeAsJson(value).toLowerCase()))
    .sort((one, other) => other.length - one.length)
    .map(value => new RegExp(RegExp.escape(value), 'gi'))
  return {
    ...answer,
    traceId: answer.traceId && redactText(answer.traceId, patterns),
    error: redactStrings(answer.error, patterns),
    answer: redactStrings(answer.answer, patterns),
    ...(answer.events && { events: redactStrings(answer.events, patterns) }),
  }
}

/**
 * Whether an answer could repeat what was sent. Most answers are a number of events and an empty
 * list; anything else a platform returns may be free text.
 */
export function hasFreeText({ error, answer, events = [] }: SendAnswer): boolean {
  if (error !== null || events.some(event => event.error !== null)) return true
  return Object.entries(answer ?? {}).some(([name, member]) => !isCodeOnly(name, member))
}

function isCodeOnly(name: string, member: unknown): boolean {
  if (Array.isArray(member)) return member.length === 0
  return name === 'events_received' && typeof member === 'number'
}

function collectSentValues(events: readonly OutboundEvent[]): Set<string> {
  const values = events.flatMap(({ digests, plain, referrer, appData }) => [
    ...Object.values(digests).flat(),
    ...Object.values(plain),
    ...(referrer === null ? [] : [referrer]),
    ...Object.values(appData ?? {})
      .flat()
      .filter(isText),
  ])
  return new Set(values.filter(value => value.length >= VALUE_CHARACTERS_MIN))
}

function isText(value: unknown): value is string {
  return typeof value === 'string'
}

function escapeAsJson(value: string): string {
  return JSON.stringify(value).slice(1, -1)
}

function redactStrings<Part>(part: Part, patterns: readonly RegExp[]): Part {
  return JSON.parse(JSON.stringify(part), (_, member) =>
    typeof member === 'string' ? redactText(member, patterns) : member,
  )
}

function redactText(text: string, patterns: readonly RegExp[]): string {
  const whole = text.length > WHOLE_CHARACTERS_MAX ? text.replace(/\S+$/, '') : text
  return patterns.reduce((rest, pattern) => rest.replace(pattern, REDACTED), whole)
}
