import { hash, randomUUID } from 'node:crypto'
import type { SeededRandom } from '../../fixtures/seeded-random.ts'

/** A made-up person of the table, by their identifiers in one plain spelling. */
export interface Person {
  number: number
  /** Null: events of this person name no visitor. */
  visitorId: string | null
  email: string
  /** Digits with the country code. */
  phone: string
  externalId: string
  country: 'de' | 'us'
}

export type IdentifierKey = 'em' | 'ph' | 'external_id'

/** What an event names of its person. */
export interface Identification {
  keys: readonly IdentifierKey[]
  userData: Record<string, unknown>
  /** The digests that each platform may get, worked out here and not by the service. */
  meta: Record<string, string[]>
  google: string[]
  gclid: string | null
  /** The address of the browser; Google takes it for people outside of Europe only. */
  ipAddress: string
}

export function createPerson(random: SeededRandom, number: number): Person {
  const isGmail = random.random() < 0.4
  const local = isGmail ? `per.son.${number}+shop` : `person.${number}`
  const isAmerican = random.random() < 0.4
  const digits = String(5_550_000 + number)
  return {
    number,
    visitorId: random.random() < 0.7 ? visitorIdOf(number) : null,
    email: `${local}@${isGmail ? 'gmail.com' : 'example.com'}`,
    phone: isAmerican ? `1650${digits}` : `491512${digits}`,
    externalId: `customer-${number}`,
    country: isAmerican ? 'us' : 'de',
  }
}

/** Two of three are random UUIDs, as the tag makes them; anyone can guess the others. */
function visitorIdOf(number: number): string {
  return number % 3 === 0 ? `visitor-${number}` : randomUUID()
}

export const isRandomVisitor = ({ visitorId }: Person) =>
  visitorId?.startsWith('visitor-') === false

const sha256 = (text: string) => hash('sha256', text)

/** Chooses what an event names, and how it is written. */
export function identify(random: SeededRandom, person: Person): Identification {
  const isClickOnly = person.visitorId === null && random.random() < 0.2
  const chosen = isClickOnly ? [] : chooseKeys(random)
  const isDigestOfCaller = { em: random.random() < 0.15, ph: random.random() < 0.15 }
  const keys: IdentifierKey[] = isClickOnly ? ['external_id'] : chosen
  const userData: Record<string, unknown> = {
    client_user_agent: 'Mozilla/5.0 (X11; Linux x86_64)',
    client_ip_address: '93.184.216.34',
    country: person.country,
  }
  const meta: Record<string, string[]> = { country: [sha256(person.country)] }
  const google: string[] = []
  if (keys.includes('em')) {
    const digest = sha256(person.email)
    userData.em = isDigestOfCaller.em ? digest : spellEmail(random, person.email)
    meta.em = [digest]
    // A caller's own digest cannot be changed, so Google gets it as it is.
    google.push(isDigestOfCaller.em ? digest : sha256(toGoogleMailbox(person.email)))
  }
  if (keys.includes('ph')) {
    const digest = sha256(person.phone)
    userData.ph = isDigestOfCaller.ph ? digest : spellPhone(random, person.phone)
    meta.ph = [digest]
    if (!isDigestOfCaller.ph) google.push(sha256(`+${person.phone}`))
  }
  if (keys.includes('external_id')) {
    userData.external_id = random.pick([person.externalId, person.externalId.toUpperCase()])
    meta.external_id = [sha256(person.externalId)]
  }
  const hasClick = isClickOnly && random.random() < 0.7
  const gclid = hasClick ? `click-${person.number}-${random.integer(1, 1_000_000)}` : null
  return { keys, userData, meta, google, gclid, ipAddress: '93.184.216.34' }
}

function chooseKeys(random: SeededRandom): IdentifierKey[] {
  const keys = (['em', 'ph', 'external_id'] as const).filter(() => random.random() < 0.6)
  return keys.includes('em') || keys.includes('ph') ? keys : ['em', ...keys]
}

function spellEmail(random: SeededRandom, email: string): string {
  return random.pick([email, ` ${email} `, email.toUpperCase(), email.replace('p', 'P')])
}

function spellPhone(random: SeededRandom, phone: string): string {
  const [, code, area, rest] = /^(1|49)(\d{3,4}?)(\d{7})$/.exec(phone) ?? []
  return random.pick([
    `+${phone}`,
    `+${code} ${area} ${rest}`,
    `+${code} (${area}) ${rest?.slice(0, 3)}-${rest?.slice(3)}`,
  ])
}

/** Google's rule: at its own domain, neither dots nor what follows a + are part of the mailbox. */
function toGoogleMailbox(email: string): string {
  const [local = '', domain] = email.split('@')
  return domain === 'gmail.com' ? `${local.split('+')[0]?.replaceAll('.', '')}@${domain}` : email
}
