import { readFileSync } from 'node:fs'

/** One line of the sample: what one customer bought in one order. */
export interface Purchase {
  /** Counted from 1. Nothing else tells two equal orders of one day apart. */
  line: number
  /** The customer's number at CDNOW, with its leading zeros. */
  customer: string
  /** YYYY-MM-DD; the sample knows no time of day. */
  date: string
  items: number
  /** Dollars and cents as they stand in the file, such as "29.33". */
  dollars: string
}

/** Columns: number in all of CDNOW, number in the sample, YYYYMMDD, CDs, dollars. */
const LINE = /^ (\d{5}) \d{4} (\d{4})(\d{2})(\d{2}) +(\d+) +(\d+\.\d{2})$/

/** Reads the whole file. Throws at the first line that is not of its form; nothing is skipped. */
export function readPurchases(path: string): Purchase[] {
  return parsePurchases(readFileSync(path, 'utf8'))
}

export function parsePurchases(text: string): Purchase[] {
  const lines = text.split(/\r?\n/)
  if (lines.at(-1) === '') lines.pop()
  return lines.map((line, index) => {
    const [, customer = '', year, month, day, items, dollars = ''] = LINE.exec(line) ?? []
    if (!customer) throw new Error(`Line ${index + 1} of the sample is no purchase.`)
    const date = `${year}-${month}-${day}`
    return { line: index + 1, customer, date, items: Number(items), dollars }
  })
}
