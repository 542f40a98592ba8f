import { join } from 'node:path'
import { lintFromString, loadConfig } from '@redocly/openapi-core'

const RULES = join(import.meta.dirname, 'redocly.yaml')

/**
 * What the linter finds in a document, one line each: the rule, the place and the sentence. It
 * reads the rules beside this file and asks nobody else: no update, no telemetry.
 */
export async function lintOpenapi(text: string): Promise<string[]> {
  const config = await loadConfig({ configPath: RULES })
  const absoluteRef = join(import.meta.dirname, 'openapi.json')
  const problems = await lintFromString({ source: text, absoluteRef, config })
  return problems.map(({ ruleId, message, location }) => {
    const place = location[0]?.pointer ?? '#/'
    return `${ruleId} at ${place}: ${message}`
  })
}
