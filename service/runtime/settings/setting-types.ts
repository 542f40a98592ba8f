import { parseNetworks } from '../util/ip-address.ts'

/** One environment variable: how it is read, checked and described. */
export interface Setting<Value> {
  variable: string
  /** As an operator would write it; null when unset has its own meaning. */
  default: string | null
  /** A secret is never printed and may also come from a file, NAME_FILE. */
  isSecret: boolean
  /** The accepted values, as text for the settings page. */
  range: string
  description: string
  /** Parses the given text or the default. Throws an InvalidValue. */
  parse: (text: string) => Value
}

/** The value does not fit. The message completes "PORT must ...". */
export class InvalidValue extends Error {
  override name = 'InvalidValue'
}

interface Description<Default> {
  description: string
  /** Without a default, the value of an unset variable is undefined. */
  default?: Default
}

export type SettingValue<Kind> =
  Kind extends Setting<infer Value>
    ? Kind extends { default: string }
      ? Value
      : Value | undefined
    : never

/** A setting with a default always has a value. */
type Described<Value, Default> = Setting<Value> & {
  default: Default extends undefined ? null : string
}

/** A whole number. */
export function integer<Default extends number | undefined = undefined>(
  variable: string,
  { min = 0, max, ...rest }: Description<Default> & { min?: number; max: number },
): Described<number, Default> {
  return describe(variable, rest, {
    range: `integer, ${min} to ${max}`,
    parse: text => {
      const isInRange = /^\d+$/.test(text) && Number(text) >= min && Number(text) <= max
      if (isInRange) return Number(text)
      throw new InvalidValue(`be a whole number from ${min} to ${max}`)
    },
  })
}

/** Any text. */
export function text<Default extends string | undefined = undefined>(
  variable: string,
  { isSecret = false, ...rest }: Description<Default> & { isSecret?: boolean },
): Described<string, Default> {
  return describe(variable, rest, { range: 'text', isSecret, parse: given => given })
}

/** One of several values. */
export function choice<Choice extends string, Default extends Choice | undefined = undefined>(
  variable: string,
  { choices, ...rest }: Description<Default> & { choices: readonly Choice[] },
): Described<Choice, Default> {
  return describe(variable, rest, {
    range: choices.map(each => `\`${each}\``).join(', '),
    parse: given => {
      const found = choices.find(each => each === given)
      if (found !== undefined) return found
      throw new InvalidValue(`be one of ${choices.join(', ')}`)
    },
  })
}

/** `on` or `off`. */
export function toggle(
  variable: string,
  { default: preset, ...rest }: { default: boolean; description: string },
): Described<boolean, string> {
  const options = { ...rest, choices: ['on', 'off'], default: preset ? 'on' : 'off' } as const
  const { parse, ...setting } = choice(variable, options)
  return { ...setting, default: options.default, parse: given => parse(given) === 'on' }
}

/** An absolute URL. `part` extracts what the program uses. */
export function url(
  variable: string,
  {
    isSecret = false,
    part = given => given,
    ...rest
  }: { description: string; isSecret?: boolean; part?: (given: string) => string },
): Described<string, undefined> {
  return describe(variable, rest, {
    range: 'absolute URL',
    isSecret,
    parse: given => {
      if (URL.canParse(given)) return part(given)
      throw new InvalidValue('be an absolute URL')
    },
  })
}

/** The URL of a PostgreSQL server, which may listen on a Unix socket: `?host=/run/postgresql`. */
export function postgresUrl(
  variable: string,
  { description }: { description: string },
): Described<string, undefined> {
  return describe(
    variable,
    { description },
    {
      range: '`postgres://` or `postgresql://` URL',
      isSecret: true,
      parse: given => {
        const parsed = URL.parse(given)
        if (parsed === null || !/^postgres(ql)?:$/.test(parsed.protocol)) {
          throw new InvalidValue('be a URL such as postgres://user:password@host:5432/database')
        }
        if (parsed.hostname === '' && !parsed.searchParams.get('host')) {
          throw new InvalidValue('name a host, as in postgres://user:password@host:5432/database')
        }
        return given
      },
    },
  )
}

interface Pattern {
  pattern: RegExp
  /** Completes "must ...". */
  requirement: string
  isSecret?: boolean
}

/** Text that matches a pattern. */
export function matching<Default extends string | undefined = undefined>(
  variable: string,
  { pattern, requirement, isSecret = false, ...rest }: Description<Default> & Pattern,
): Described<string, Default> {
  return describe(variable, rest, {
    range: `text; must ${requirement}`,
    isSecret,
    parse: given => {
      if (pattern.test(given)) return given
      throw new InvalidValue(requirement)
    },
  })
}

/** Comma-separated texts that match a pattern together; none when unset. */
export function list(
  variable: string,
  options: { description: string; default?: string } & Pattern,
): Described<string[], string> {
  const { parse, ...setting } = matching<string | undefined>(variable, options)
  const items = (given: string) => (given === '' ? [] : parse(given).split(/\s*,\s*/))
  return { ...setting, default: options.default ?? '', parse: items }
}

/** Comma-separated addresses and CIDR ranges; none when unset. */
export function networks(
  variable: string,
  { description }: { description: string },
): Described<ReturnType<typeof parseNetworks> & object, string> {
  return {
    variable,
    description,
    default: '',
    isSecret: false,
    range: 'comma-separated IP addresses and CIDR ranges',
    parse: given => {
      const parsed = given === '' ? [] : parseNetworks(given)
      if (parsed) return parsed
      throw new InvalidValue('be addresses or ranges such as 10.0.0.0/8, 192.0.2.7')
    },
  }
}

function describe<Value, Default extends string | number | undefined>(
  variable: string,
  { description, default: preset }: Description<Default>,
  rest: { range: string; isSecret?: boolean; parse: (given: string) => Value },
): Described<Value, Default> {
  const setting = {
    variable,
    description,
    default: preset === undefined ? null : String(preset),
    isSecret: false,
    ...rest,
  }
  return setting as Described<Value, Default>
}
