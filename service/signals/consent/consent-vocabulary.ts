/**
 * What a word in the name of a member is about. An `ending` in the last place makes the name a
 * label of the answer (`opt_out_url`), an `inert` word in any place. `filler` words say nothing.
 */
export type WordKind =
  | 'advertising'
  | 'personalization'
  | 'sale'
  | 'sharing'
  | 'tracking'
  | 'device_limit'
  | 'gpc'
  | 'social'
  | 'opt_out'
  | 'consent'
  | 'switch'
  | 'all'
  | 'negation'
  | 'refusal'
  | 'withdrawal'
  | 'channel'
  | 'subscription'
  | 'other_purpose'
  | 'ending'
  | 'interface'
  | 'inert'
  | 'law'
  | 'container'
  | 'filler'

/** A word in two lists has the kind of the first one. Other languages are without accents. */
const WORDS: Record<WordKind, string> = {
  advertising: `ad ads adv advert adverts advertise advertiser advertisers advertising
    advertisement advertisements adstorage aduserdata adpersonalization adtech marketing
    targeting targeted retargeting retargeted
    remarketing behavioral behavioural iba oba npa werbung werbe publicite publicites publicitaire
    publicitaires publicidad publicidade pubblicita pubblicitari pubblicitarie reklama reklame
    reklam reklamy mainonta markkinointi marknadsforing markedsforing reclame advertentie
    advertenties ciblage ciblee ciblees adcloud реклама маркетинг 広告 マーケティング 广告 营销 廣告 광고
    마케팅 anzeigen reklaam iklan pengiklanan pemasaran rinkodara
    trzenje pub publi promotional mkt mktg mrkt targetable pazarlama hedefleme`,
  personalization: `personalized personalised personalization personalisation personalize
    personalise`,
  sale: `sale sell selling sold thirdparty partners monetization monetisation dns dnsmpi dnsmpd
    dnss sellable broker brokers broking brokering brokerage datenverkauf dritte dritten
    drittanbieter derden terzi terceros terceiros tredjepart`,
  sharing: `share sharing sales shareable partage partager weitergabe datenweitergabe delen
    condivisione compartir compartilhar partilha udostepnianie cession cesion cessione
    przekazywanie doorgifte`,
  tracking: `adid adids track tracking tracked tracker trackers profilazione profilage profilering
    profilierung perfilado trackable profiling profiled
    fingerprinting pixel pixels conversion conversions capi audience audiences lookalike
    lookalikes crosssite crosscontext advancedmatching att idfa aaid gaid rida tifa oaid aam dmp
    demdex`,
  device_limit: 'lat lmt dnt rdp ldu lmu ldp',
  gpc: 'gpc globalprivacycontrol uoom',
  social: 'social socialmedia socialnetworking',
  opt_out: 'optout optouts optedout optingout',
  consent: `consent consents consented consenting einwilligung zustimmung consentement
    consentimiento consentimento consenso toestemming samtykke samtycke suostumus zgoda cookie
    cookies permission permissions permit permitted permits agree iagree iaccept agrees agreed
    agreement accept
    accepts accepted acceptance accepting allow allows allowed allowing grant grants granted given
    approve approved approval authorize authorized authorise authorised authorization
    authorisation nonessential optin optins optedin optingin collect collection`,
  switch: `v enabled enable active activated on val value status state choice choices decision
    answer response action flag result selected selection checked level levels event interaction
    general ok okay signal signals command subcommand trigger`,
  all: 'all everything every full',
  negation: 'not no non never dont without off missing absent lack lacking',
  refusal: `exclusion exclusions suppression suppressions blocklist stop stopped
    consentless unconsented denials refusals rejections deny denied denies
    denying denial decline declined declines refuse refused refuses
    refusal reject rejected rejects rejecting rejection disallow disallowed disable disabled block
    blocked blocking prevent prevented forbid forbidden prohibit prohibited limit limited limits
    restrict restricted restriction exclude excluded suppress suppressed disagree disagreed
    deactivated inactive necessaryonly dissent dissents dissented remove removed withheld
    filter filtered filters`,
  withdrawal: `withdraw withdrawn withdrawal withdrew revoke revoked revocation objected
    objection objections opposed opposition withdrawals revocations`,
  channel: `email emails mail mails mailing mailings sms mms push notification notifications
    phone telephone call calls telemarketing newsletter newsletters whatsapp messenger post postal
    letter letters fax viber telegram chat login solicit solicitation solicitations`,
  subscription: 'subscription subscriptions subscribe subscribed unsubscribe unsubscribed',
  other_purpose: `ga mtm clarity analytics analytic analytical analysis statistics statistic
    statistical stats statistik statistiques estadisticas performance
    measurement measurements mesure messung
    medicion functional functionality functionalities fonctionnel funktional preference
    preferences necessary necessaires essential essentials notwendig required strictly strict
    technical security experience comfort convenience external embedded media multimedia video
    videos youtube vimeo maps fonts captcha recaptcha support research development product
    products improvement content geolocation location unclassified uncategorized misc hosting
    session sessions error errors crash heatmap heatmaps abtest testing anonymous order orders
    shipping package feedback survey surveys review reviews quality monitoring engagement search
    adblocker adblock shipment shipments parcel courier affiliates crm cdp bigdata mobile
    payment payments
    card camera microphone contacts
    delivery
    calendar photos bluetooth tec ana nec func perf stat needed`,
  ending: `campaign campaigns slot slots unit units placement position positions size creative
    click clicks impressions
    keyword require requires applies apply applicable shown show displayed display
    visible presented number link links url urls uri href id uuid guid version ver revision at
    date time timestamp ts utc expires expiry expiration age days language lang languages locale
    country countries region regions source method methods mechanism text texts label labels title
    titles name description message policy reason basis type format count index supported
    available configured configurable optional model mode framework regulation jurisdiction regime
    disclosed processed provider path domain host code string key hash token template width height
    color colour theme layer seen channel channels clicked price prices amount total company
    carrier discount network variant variants experiment served fired sent connected linked synced
    installed revenue cpm ctr roas reach
    views before
    coupon team budget handle username nickname spend cost list tax currency sku duration
    translation translations likes followers following fans friends posts comments subscribers
    members visits leads rating ratings score
    interest interests`,
  interface: `banner notice popup prompt dialog widget button modal page ui sdk script cmp api
    debug mandatory locked readonly editable hidden collapsed expanded loaded ready initialized
    pending preview closed opened`,
  inert: `adfree adgroup conversionvalue redaction redact redacted passthrough double
    supports honors honours respects frequency
    capping wait revocable withdrawable requirement requirements mspa default preferred previous
    previously former formerly old socialshare`,
  law: `gdpr ccpa cpra dsgvo rgpd avg lgpd vcdpa cpa ctdpa ucpa tdpsa ocpa njdpa usp usprivacy usnat
    gpp tcf iab dma pipl pdpa popia appi kvkk pipeda dpdpa`,
  container: `types category categories categoria categorias cat cats group groups purpose purposes
    service services vendor vendors vendeurs scope scopes integration integrations destination
    destinations`,
  filler: `metadata identifier identifiers is ids has have are was were be been do does did the of
    to for from by with
    in out and or my our your their its user users visitor visitors customer customers person
    personal people data info information usage use using uses process processing store stored
    storage box checkbox any optanon onetrust ot cmplz cookielawinfo cookieyes cky cookiebot
    cookiehub cookiefirst cookiescript cookieconsent cookielaw uc usercentrics cc wp moove klaro
    borlabs didomi iub iubenda truste trustarc osano termly tealium ketch transcend securiti
    sourcepoint sp hs hubspot ss squarespace shopify wix gtm gtag ccm axeptio quantcast iabtcf
    set pi dg offsite viewed send sending forward forwarded forwarding
    current latest last final browser device app site web website header headers navigator
    setting settings option options bool boolean new opt privacy california us usa
    uk eu eea ca va co ct national universal based this that should may can only granular display
    online digital context cross networks tag tags platform platforms general global
    relevant related onsale direct first system public main custom sec inc llc ltd gmbh ireland
    client server side tc daa nai edaa c ttq pintrk rdt lintrk twq uetq gad gtag save
    saving get ut utag tci cp ios android unity kochava singular applovin
    vungle ironsource chartboost inmobi admob appsflyer adjust branch segment rudderstack mparticle
    braze adobe xdm magento woocommerce woo bigcommerce piwik ppms ensighten commanders cact
    gatsby odoo shoptet idosell shoper sylius oxid jtl gambio spryker vtex
    prestashop opencart typo3 joomla contao kentico sitecore umbraco hybris sap demandware sfcc
    salesforce lightspeed ecwid webflow getterms cookiepal cookieadmin pressidium ezoic admiral
    sirdata appconsent uniconsent liveramp clickio wcp snowplow silktide finsweet amcookie
    lgcookieslaw rcb cookieman trustcommander consentmo pandectes enzuzo fides ethyca civic evidon
    crownpeak ccm complianz
    tarteaucitron uniconsent secureprivacy illow cookiepro cookieinformation`,
}

/** Stems of advertising in compounds that no list of words can hold (`Marketingzwecke`). */
export const ADVERTISING_STEM = new RegExp(
  withoutMarks(
    'advertis|advertent|annons|annonc|annunci|inserzion|anunci|mainos|mainonta|' +
      'hirdet|oglas|διαφημ|marketing|targeting|' +
      'werbe|werbung|publicit|publicid|pubblicit|reklam|remarket|広告|广告|廣告|광고|마케팅|' +
      'マーケティング|营销|行銷|اعلان|تسويق|פרסום|שיווק|โฆษณา|การตลาด|quangcao|tiepthi|विज्ञापन|विपणन|' +
      'বিজ্ঞাপন|விளம்பர|تبلیغ|реклам|auglys|reklaam',
  ),
)

/** `reklamowe` and `reklamní`, and not `reklamfri`. A longer rest is a word of its own. */
export function isInflected(word: string): boolean {
  const [before = '', after = ''] = word.split(ADVERTISING_STEM)
  return before === '' && after.length <= 3 && !/^(?:l[oø]s|fri|fre)/.test(after)
}

/**
 * Stems of refusals in the languages of Europe: each has too many forms (`rechazado`, `rechazadas`)
 * for a list of words.
 */
export const REFUSAL_STEM = toStem(
  `rechaz rifiut refus refuz recus abgelehn ablehn verweiger widerruf widerspr widersproch geweiger
  weiger afgewez afvis afvist afslag afslog avsla avslo avvis nekad nekat nekar nekt odmit odmiet
  odmow
  odmaw odrzuc odwol odvol odbij zamit nepovol nesouhlas nesuhlas neprijat niezgod wycof wylacz
  negad negat deneg bloquea bloquee blockier bloccat desactiv desativ deaktiv disattiv deshabilit
  disabilit gesperrt untersagt verboten retirad retiree ritirat ingetrokken uitgeschakel elutasit
  revocad revocat revocac revoque revoqu revogad revogac zuruckgezog zuruckgenomm teruggetrok
  cofniet cofnal annul anulad anulow aterkall tilbagekald tilbagetruk tilbaketruk
  peruut visszavon opozvan povucen stiahnut disdett оттегл ανακλη
  respins reddedil reddet afslaa afsla zamiet keeld atteik noraid atsisak atmest nesuti[kn] zavrn
  zavrac hafna rebutj tolak ditolak penolakan tuchoi
  hylat hylkaa kielt kiell otkaz отказ отклон отозв запре деактив
    неактив
  несоглас заборон відхил відмов отхвърл забран одби απορρ αρν 拒 不同意 不允许 거부 거절 مرفوض رفض
  סירב נדח ปฏิเสธ अस्वीक オプトアウト`,
  'しない しません いない 않 안함',
)

/** Stems of consent in names, in the singular and the plural. */
export const CONSENT_STEM = toStem(
  `consentement consentim einwillig zustimm toestemm samtyk samtyc suostumu zgod souhlas suhlas
  hozzajarul izin rizas consens consimtam privol suglas soglas sutikim piekris noustum nousolek
  persetujuan συγκαταθ συναιν 同意 동의 согласи згод съглас הסכמ موافق ความยินยอม सहमति`,
)

/** Stems of other purposes, which consent platforms name in the language of the site. */
export const OTHER_PURPOSE_STEM = toStem(
  `technic techni[sq] technol tecnic tecni[ck] tekni[sk] techniczn funktion fun[ck][ct]ion funzion
  fonction func[ij]on funkcj funkcn necess neces nezbyt niezb nodvend nodvand noodzak notwend
  essen[tzc] esenci estadist estatist statis[tk] statyst analit analyt analys preferen performan
  rendimi prestazion leistung`,
)

/** Stems of grants. They count in values alone, where a word that is not known grants nothing. */
export const GRANT_STEM = toStem(
  `akzept accept(?!ab) acept accett aceit autoris autoriz zugestimm erlaub gestattet einverstand
  aktivier
  activad activee attivat ativad ingeschakel tillat godka godke godtag hyvaks salli permitid permes
  consentit consentid toegest toestem akkoord souhlas suhlas povol dovol prijat zgod zezwol zaakcept
  onayl kabul elfogad engedely hozzajarul concedid otorgad genehmig разреш соглас принят активн
  同意 許可 オプトイン 허용 동의`,
)

/** Words that begin with one of the stems, or have one of the parts, as names are compared. */
function toStem(stems: string, parts = ''): RegExp {
  const inside = parts === '' ? [] : parts.split(' ')
  const begin = stems
    .trim()
    .split(/\s+/)
    .map(stem => `^${stem}`)
  return new RegExp(withoutMarks([...begin, ...inside].join('|')))
}

/** Russian and Japanese letters have marks, too. */
export function withoutMarks(text: string): string {
  return text.normalize('NFKD').replace(/\p{M}/gu, '')
}

/** Of ads in answers: `NON_PERSONALIZED` is a no. */
export const PERSONALIZING_WORDS = 'personalized personalised behavioral behavioural targeted'

/** Signals of Google's Consent Mode, which are about no single advertising platform. */
export const CONSENT_MODE_SIGNALS: ReadonlySet<string> = new Set([
  ...['adstorage', 'aduserdata', 'adpersonalization', 'npa'],
])

/** Words by which consent platforms name an advertising platform; see `Platform.consentNeeds`. */
const VENDORS: Readonly<Record<string, string>> = {
  meta: 'meta facebook fb fbq instagram',
  google: 'google gtag adwords doubleclick gads dv360 admob adsense floodlight',
  tiktok: 'tiktok bytedance',
  pinterest: 'pinterest',
  snapchat: 'snap snapchat snaptr',
  reddit: 'reddit',
  linkedin: 'linkedin',
  microsoft: 'microsoft bing uet',
  x: 'twitter',
  openai: 'openai chatgpt oaiq',
  others: `criteo taboola outbrain amazon quora yahoo yandex adroll adform awin klaviyo
    mailchimp hotjar matomo intercom zendesk mixpanel amplitude spotify rtbhouse
    thetradedesk youtube vimeo posthog heap fullstory hj mouseflow smartlook crazyegg vwo
    optimizely chartbeat sentry datadog tawk crisp tidio`,
}

/** Words of a product's name, which say nothing more after its vendor: LinkedIn Insight Tag. */
export const PRODUCT_WORDS: ReadonlyMap<string, string> = new Map([['insight', 'linkedin']])

/** Those that a refusal of social media is about. */
export const SOCIAL_VENDORS: readonly string[] = [
  ...['meta', 'tiktok', 'pinterest', 'snapchat', 'reddit', 'linkedin', 'x'],
]

/** The vendors that consent platforms name. */
export const VENDOR_NAMES: readonly string[] = Object.keys(VENDORS)

/** Stands for each receiver that consent platforms have no name for. */
export const UNNAMED_VENDOR = 'unnamed'

/** The kinds of words that a name can have. */
export const WORD_KINDS: ReadonlyMap<string, WordKind> = indexWords(WORDS)

/** The vendor that a word names. */
export const VENDOR_BY_WORD: ReadonlyMap<string, string> = indexWords(VENDORS)

function indexWords<Key extends string>(lists: Readonly<Record<Key, string>>): Map<string, Key> {
  const index = new Map<string, Key>()
  for (const [key, words] of Object.entries(lists) as [Key, string][]) {
    for (const word of withoutMarks(words).split(/\s+/)) if (!index.has(word)) index.set(word, key)
  }
  return index
}
