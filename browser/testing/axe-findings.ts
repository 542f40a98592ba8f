import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import type { Page } from 'playwright-core'

const AXE = readFileSync(fileURLToPath(import.meta.resolve('axe-core/axe.min.js')), 'utf8')

interface Violation {
  id: string
  impact: string
  nodes: { html: string }[]
}

/**
 * What axe-core finds on the page that keeps people from using it, in light and in dark: the rules
 * of WCAG 2.2 A and AA and the good habits, from "serious" upwards. One line each.
 */
export async function axeFindings(page: Page): Promise<string[]> {
  const findings: string[] = []
  for (const colorScheme of ['light', 'dark'] as const) {
    await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' })
    // Not by a script tag, which the page's policy refuses, and rightly.
    await page.evaluate(AXE)
    const violations = (await page.evaluate(
      `axe.run({ resultTypes: ['violations'] }).then(({ violations }) => violations)`,
    )) as Violation[]
    const serious = violations.filter(({ impact }) => ['serious', 'critical'].includes(impact))
    for (const { id, nodes } of serious) {
      const where = new URL(page.url()).pathname
      findings.push(`${where} ${colorScheme} ${id}: ${nodes.map(({ html }) => html).join(' ')}`)
    }
  }
  return findings
}
