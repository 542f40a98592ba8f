import { join } from 'node:path'
import { lintFromString, loadConfig } from '@redocly/openapi-core'

const RULES = join(import.meta.dirname, 'redocly.yaml')

/**
 * The linter's problems in a document, one line each: rule, location and message. It reads the
 * rules beside this file and makes no network requests.
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
