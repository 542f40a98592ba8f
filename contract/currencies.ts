/**
 * The codes of ISO 4217 (list one, 2025) in which a price can be given: currencies and units of
 * account such as CLF. Precious metals, XDR, XTS and XXX are left out, since no order is paid in
 * them. ANG, BGN and CUC were withdrawn recently and stay for events that are reported late.
 *
 * A fixed list, because `Intl.supportedValuesOf('currency')` depends on the version of Node: two
 * processes of one installation could disagree about a body (docs/decisions/0030).
 */
const CURRENCY_CODES: ReadonlySet<string> = new Set(
  `AED AFN ALL AMD ANG AOA ARS AUD AWG AZN BAM BBD BDT BGN BHD BIF BMD BND BOB BOV BRL BSD BTN BWP
  BYN BZD CAD CDF CHE CHF CHW CLF CLP CNY COP COU CRC CUC CUP CVE CZK DJF DKK DOP DZD EGP ERN ETB
  EUR FJD FKP GBP GEL GHS GIP GMD GNF GTQ GYD HKD HNL HTG HUF IDR ILS INR IQD IRR ISK JMD JOD JPY
  KES KGS KHR KMF KPW KRW KWD KYD KZT LAK LBP LKR LRD LSL LYD MAD MDL MGA MKD MMK MNT MOP MRU MUR
  MVR MWK MXN MXV MYR MZN NAD NGN NIO NOK NPR NZD OMR PAB PEN PGK PHP PKR PLN PYG QAR RON RSD RUB
  RWF SAR SBD SCR SDG SEK SGD SHP SLE SOS SRD SSP STN SVC SYP SZL THB TJS TMT TND TOP TRY TTD TWD
  TZS UAH UGX USD USN UYI UYU UYW UZS VED VES VND VUV WST XAF XCD XCG XOF XPF YER ZAR ZMW
  ZWG`.split(/\s+/),
)

/** Whether the text is an ISO 4217 code in use, in any case. */
export function isCurrencyCode(text: string): boolean {
  return CURRENCY_CODES.has(text.toUpperCase())
}
