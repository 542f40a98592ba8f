/** For tests only: writes TC strings of any day, purposes and vendor sections. */

const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'

export interface TcStringOptions {
  version?: number
  created?: string
  policyVersion?: number
  purposes?: number[]
  legitimateInterests?: number[]
  purposeOneTreatment?: boolean
  vendorConsents?: VendorSection
  vendorInterests?: VendorSection
  restrictions?: VendorRange[][]
  disclosed?: VendorSection | null
  customPurposes?: number | null
}

/** Either a bit for each id up to `idMax`, or ranges. */
export type VendorSection = { idMax: number } | { ranges: VendorRange[] }
export type VendorRange = [first: number, last: number]

/** By default: Meta's purposes consented, policy 5, created 2026-11-01, vendors disclosed. */
export function buildTcString(plan: TcStringOptions = {}): string {
  const { disclosed = { idMax: 12 }, customPurposes = null } = plan
  const segments = [base64Url(coreBits(plan))]
  if (disclosed !== null) segments.push(base64Url(bits(1, 3) + vendorBits(disclosed)))
  if (customPurposes !== null) segments.push(base64Url(publisherBits(customPurposes)))
  return segments.join('.')
}

function coreBits(plan: TcStringOptions): string {
  const { version = 2, created = '2026-11-01', policyVersion = 5 } = plan
  const deciseconds = Date.parse(created) / 100
  const empty = { idMax: 0 }
  return [
    bits(version, 6) + bits(deciseconds, 36) + bits(deciseconds, 36),
    bits(300, 12) + bits(1, 12) + bits(1, 6) + bits(4, 6) + bits(13, 6),
    bits(100, 12) + bits(policyVersion, 6) + bits(2, 2) + bits(0, 12),
    purposeBits(plan.purposes ?? [1, 3, 4, 7]) + purposeBits(plan.legitimateInterests ?? []),
    bits(plan.purposeOneTreatment ? 1 : 0, 1) + bits(3, 6) + bits(4, 6),
    vendorBits(plan.vendorConsents ?? empty) + vendorBits(plan.vendorInterests ?? empty),
    restrictionBits(plan.restrictions ?? []),
  ].join('')
}

function purposeBits(purposes: number[]): string {
  return Array.from({ length: 24 }, (_, at) => (purposes.includes(at + 1) ? '1' : '0')).join('')
}

function vendorBits(plan: VendorSection): string {
  if ('idMax' in plan) return `${bits(plan.idMax, 16)}0${'1'.repeat(plan.idMax)}`
  const idMax = Math.max(0, ...plan.ranges.map(([, last]) => last))
  return `${bits(idMax, 16)}1${rangeBits(plan.ranges)}`
}

function restrictionBits(restrictions: VendorRange[][]): string {
  const each = restrictions.map(
    (ranges, at) => bits((at % 10) + 1, 6) + bits(0, 2) + rangeBits(ranges),
  )
  return bits(restrictions.length, 12) + each.join('')
}

function rangeBits(ranges: VendorRange[]): string {
  const each = ranges.map(([first, last]) =>
    first === last ? `0${bits(first, 16)}` : `1${bits(first, 16)}${bits(last, 16)}`,
  )
  return bits(ranges.length, 12) + each.join('')
}

function publisherBits(customPurposes: number): string {
  return bits(3, 3) + '0'.repeat(48) + bits(customPurposes, 6) + '01'.repeat(customPurposes)
}

function bits(value: number, width: number): string {
  return value.toString(2).padStart(width, '0')
}

function base64Url(text: string): string {
  const padded = text.padEnd(Math.ceil(text.length / 6) * 6, '0')
  const groups = padded.match(/.{6}/g) ?? []
  return groups.map(group => ALPHABET.charAt(Number.parseInt(group, 2))).join('')
}
