/**
 * What a statement is about: `everything` is consent as a whole, `sale` the sale or sharing of
 * data, `tcf_3` a purpose of the TCF, and `other` a purpose that advertising does not need.
 */
export type ConsentSubject =
  | 'advertising'
  | 'ad_storage'
  | 'ad_user_data'
  | 'ad_personalization'
  | 'everything'
  | 'sale'
  | 'tracking'
  | 'social_media'
  | 'gpc'
  | 'other'
  | `tcf_${number}`

/** The object of a submission that a statement is from; members beside them count as `consent`. */
export type ConsentSource = 'consent' | 'tcf' | 'consent_mode'

/**
 * What a statement says. `permitted` takes no grant away and gives none: an opt-out that was not
 * made. `unset` is no answer, and `unclear` may be a refusal.
 */
export type ConsentMeaning = 'granted' | 'refused' | 'permitted' | 'unset' | 'unclear'

/**
 * One thing that a submission says about consent, in the words of no advertising platform. It is
 * read once; each platform's decision is made from the same statements.
 */
export interface ConsentStatement {
  source: ConsentSource
  /** Dotted path of the member, safe to store. */
  field: string
  subject: ConsentSubject
  /** The advertising platform that it is about; null: every one. */
  vendor: string | null
  meaning: ConsentMeaning
  /** Whether a form of the table says it. Otherwise only the words of the name do. */
  isForm: boolean
  /** Why a refusal refuses. */
  why: 'words_denied' | 'opted_out' | 'gpp_opt_out'
  /** When Global Privacy Control was read, as the member beside it says. */
  gpcCapturedAt?: unknown
  /** Of a refusal that only its time tells, in milliseconds: a consent may be captured later. */
  refusedAt?: number
}

/** A TC string under any of its names, not decoded. */
export interface TcStringStatement {
  field: string
  text: unknown
}

/** Decoded purposes of the TCF: of a TC object, or of its section for Canada. */
export interface TcPurposesStatement {
  field: string
  consented: ReadonlySet<number>
  /** Canada: consent that is only implied refuses nothing, and grants nothing. */
  implied: ReadonlySet<number>
  /** Nothing is listed, which is also what a platform says where the GDPR does not apply. */
  isBlank: boolean
}

/** The vendors of a decoded TC object, by their IDs on the Global Vendor List. */
export interface TcVendorsStatement {
  field: string
  consents: Readonly<Record<string, unknown>>
}

/** Everything that a submission says about consent. */
export interface ConsentStatements {
  choices: ConsentStatement[]
  tcStrings: TcStringStatement[]
  tcPurposes: TcPurposesStatement[]
  tcVendors: TcVendorsStatement[]
  /** Google's Additional Consent strings. */
  additionalConsents: TcStringStatement[]
  /** False: TCF data says that the GDPR does not apply. */
  gdprApplies: boolean
  /** Whether anything says that the GDPR does not apply. */
  isOutsideGdpr: boolean
  /** The objects with members about anything else than consent to advertising. */
  withOthers: Set<ConsentSource>
}

/** What an advertising platform needs from the statements of a submission. */
export interface PlatformConsentNeeds {
  /** Its name among the vendors that consent platforms name; null: none of them is meant. */
  vendor: string | null
  /** Whether a refusal of social media is about it. */
  isSocialMedia: boolean
  /** The purposes of the TCF that must all be consented. */
  tcfPurposes: readonly number[]
  /** Its ID on the Global Vendor List, which a TC string must consent; null: not listed. */
  tcfVendorId: number | null
  /** Whether Google's Additional Consent strings may list it: see `additionalConsentProvider`. */
  isAdditionalProvider: boolean
  /**
   * Whether a refusal of personalized ads alone (`ad_personalization`, or these purposes of the
   * TCF) refuses the event, or only restricts what the platform may use it for.
   */
  personalization: { refusal: 'refuses' | 'restricts'; tcfPurposes: readonly number[] }
}

/** A platform of a tracker, by the name of its plug-in. */
export interface PlatformNeeds {
  readonly name: string
  readonly consentNeeds: PlatformConsentNeeds
}
