import type { SuiteRun } from './expected-failures.ts'

/**
 * Scenarios that need no tools, resources or prompts of the suite. They also run against the
 * service itself, which has tools of its own instead.
 */
export const FIXTURE_FREE: Record<SuiteRun, readonly string[]> = {
  '0.1.16': [
    'server-initialize',
    'ping',
    'tools-list',
    'resources-list',
    'prompts-list',
    'dns-rebinding-protection',
  ],
  '2025-11-25': [
    'server-initialize',
    'ping',
    'tools-list',
    'resources-list',
    'prompts-list',
    'dns-rebinding-protection',
  ],
  '2026-07-28': [
    'tools-list',
    'server-sse-multiple-streams',
    'resources-list',
    'sep-2164-resource-not-found',
    'prompts-list',
    'dns-rebinding-protection',
    'caching',
    'http-header-validation',
  ],
}
