import { foldCountryName } from './normalize-country.ts'

/**
 * The two letters of a state of the United States or a province of Canada that is given by its
 * name, in English or French, or with its country (`US-CA`, ISO 3166-2); null for anything else.
 * `place` has letters only. The two countries are those whose codes Meta's page and libraries name.
 */
export function findSubdivisionCode(place: string, country: string | null): string | null {
  const codes = country === null ? undefined : SUBDIVISIONS[country]
  if (codes === undefined) return null
  const name = foldCountryName(place)
  const code = codes.get(name)
  if (code !== undefined) return code
  const isWithCountry = name.length === 4 && name.startsWith(country as string)
  const suffix = name.slice(2)
  return isWithCountry && [...codes.values()].includes(suffix) ? suffix : null
}

const US_STATES = `
  al alabama, ak alaska, az arizona, ar arkansas, ca california, co colorado, ct connecticut,
  de delaware, fl florida, ga georgia, hi hawaii, id idaho, il illinois, in indiana, ia iowa,
  ks kansas, ky kentucky, la louisiana, me maine, md maryland, ma massachusetts, mi michigan,
  mn minnesota, ms mississippi, mo missouri, mt montana, ne nebraska, nv nevada, nh newhampshire,
  nj newjersey, nm newmexico, ny newyork, nc northcarolina, nd northdakota, oh ohio, ok oklahoma,
  or oregon, pa pennsylvania, ri rhodeisland, sc southcarolina, sd southdakota, tn tennessee,
  tx texas, ut utah, vt vermont, va virginia, wa washington, wv westvirginia, wi wisconsin,
  wy wyoming, dc districtofcolumbia, dc washingtondc, ny newyorkstate, wa washingtonstate,
  as americansamoa, gu guam, mp northernmarianaislands, pr puertorico, vi usvirginislands,
  vi virginislands`

const CANADIAN_PROVINCES = `
  ab alberta, bc britishcolumbia, bc colombiebritannique, mb manitoba, nb newbrunswick,
  nb nouveaubrunswick, nl newfoundlandandlabrador, nl newfoundland, nl terreneuveetlabrador,
  ns novascotia, ns nouvelleecosse, nt northwestterritories, nt territoiresdunordouest,
  nu nunavut, on ontario, pe princeedwardisland, pe ileduprinceedouard, qc quebec,
  sk saskatchewan, yt yukon, yt yukonterritory`

const SUBDIVISIONS: Record<string, Map<string, string>> = {
  us: readTable(US_STATES),
  ca: readTable(CANADIAN_PROVINCES),
}

function readTable(table: string): Map<string, string> {
  const rows = table.split(',').map(row => row.trim().split(' ') as [string, string])
  return new Map(rows.map(([code, name]) => [name, code]))
}
