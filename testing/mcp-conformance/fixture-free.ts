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

/** Checks of a scenario that need a tool of the suite; its others run against the service. */
export const FIXTURE_CHECKS = {
  scenario: 'server-stateless',
  run: '2026-07-28',
  passed: 21,
  checks: [
    'sep-2575-server-rejects-undeclared-capability',
    'sep-2575-missing-capability-http-400',
    'sep-2575-http-server-no-independent-requests-on-stream',
    'sep-2575-server-no-log-without-loglevel',
  ],
} as const

interface LeftOut {
  scenarios: RegExp
  reason: string
}

/** Scenarios that run with the tools of the suite only, with the reason. */
export const NEED_FIXTURES: readonly LeftOut[] = [
  {
    scenarios: /^(tools-call-|elicitation-|json-schema-2020-12$|http-custom-header-)/,
    reason: 'They call a tool of the suite, or look for it in the list.',
  },
  {
    scenarios: /^input-required-result-/,
    reason:
      'They call a tool or prompt of the suite that needs input. Four pass without it, which ' +
      'proves nothing, because an unknown tool is an error too.',
  },
  {
    scenarios: /^(resources-read-|resources-templates-|prompts-get-)/,
    reason: 'They read a resource or prompt of the suite.',
  },
  {
    scenarios: /^(completion-complete|logging-set-level|resources-(un)?subscribe)$/,
    reason: 'The service offers no completions, log messages or subscriptions.',
  },
  {
    scenarios: /^tasks-/,
    reason: 'Tasks are an extension that the service does not offer.',
  },
  {
    scenarios: /^server-(sse-polling|sse-multiple-streams|session-lifecycle)$/,
    reason: 'Up to 2025-11-25 they check nothing on a server without sessions.',
  },
]
