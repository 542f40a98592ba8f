import { isObject, type UntrustedObject } from '../../runtime/util/is-object.ts'
import type { PrivacyMember } from './consent-members.ts'
import { classifyMember, type Restriction } from './consent-members.ts'
import { decodeGppString } from './gpp-string.ts'

/** What the GPP strings of a submission say. */
export interface GppReading {
  /** The dotted path of the string that decided. */
  field: string
  /** Of the US sections; null if there are none. */
  restriction: Restriction | null
  /** The TC strings of the EU sections. */
  tcStrings: { field: string; text: string }[]
}

/**
 * Reads GPP strings: a string, or an object such as the `pingReturn` of `__gpp`, which has it as
 * `gppString`. An opt-out in any section denies, even in a section that does not apply. A string
 * that is not decodable, or that has a section which we do not read, may have one. Null without a
 * GPP string.
 */
export function readGppStrings(members: readonly PrivacyMember[]): GppReading | null {
  const readings = members.map(({ field, value }) => readMember(field, value))
  const [first] = readings
  if (first === undefined) return null
  const strictest = STRICTEST_FIRST.map(each =>
    readings.find(({ restriction }) => restriction === each),
  ).find(each => each !== undefined)
  return { ...(strictest ?? first), tcStrings: readings.flatMap(({ tcStrings }) => tcStrings) }
}

const STRICTEST_FIRST: Restriction[] = ['refused', 'unclear', 'allowed', 'unset']

function readMember(field: string, value: unknown): GppReading {
  const named = isObject(value) ? findString(value) : null
  return named
    ? readText(`${field}.${named}`, (value as UntrustedObject)[named])
    : readText(field, value)
}

function findString(value: UntrustedObject): string | undefined {
  return Object.keys(value).find(
    name => name === 'string' || classifyMember(name, value[name]) === 'gpp',
  )
}

function readText(field: string, text: unknown): GppReading {
  if (text === null || text === '') return { field, restriction: 'unset', tcStrings: [] }
  const choices = typeof text === 'string' ? decodeGppString(text) : null
  if (choices === null) return { field, restriction: 'unclear', tcStrings: [] }
  const { usOptOut, tcString, hasUnreadSection } = choices
  const tcStrings = tcString === null ? [] : [{ field, text: tcString }]
  const restriction = usOptOut === 'refused' || !hasUnreadSection ? usOptOut : 'unclear'
  if (restriction !== 'absent') return { field, restriction, tcStrings }
  return { field, restriction: tcString === null ? 'unset' : null, tcStrings }
}
