import type { Settings } from '../../runtime/settings/settings.ts'

/**
 * - ok: nothing to do.
 * - warning: it works, but not as an operator of a production installation would want.
 * - error: events are lost, refused or not delivered, or a secret is exposed.
 * - skipped: it cannot be checked, because something that it needs is missing.
 */
export type Severity = 'ok' | 'warning' | 'error' | 'skipped'

/** The result of one check. Never contains a secret or personal data. */
export interface Finding {
  /** Stable, for scripts: `store.clock`. */
  check: string
  severity: Severity
  /** What is the case, in one sentence. */
  message: string
  /** What to do about it; null when there is nothing to do. */
  fix: string | null
}

/** What every check may read. */
export interface DoctorContext {
  settings: Settings
  now: () => Date
}

export function ok(check: string, message: string): Finding {
  return { check, severity: 'ok', message, fix: null }
}

export function warning(check: string, message: string, fix: string): Finding {
  return { check, severity: 'warning', message, fix }
}

export function error(check: string, message: string, fix: string): Finding {
  return { check, severity: 'error', message, fix }
}

export function skipped(check: string, message: string): Finding {
  return { check, severity: 'skipped', message, fix: null }
}

const LOOPBACK_HOST = /^(localhost|.+\.localhost|127(\.\d+){3}|\[?::1\]?)$/

/** Whether a host name or address is that of this machine only. */
export function isLoopbackHost(host: string): boolean {
  return LOOPBACK_HOST.test(host)
}

/**
 * Whether other machines are meant to reach the installation. Shortcuts for trying it out, such as
 * the simulator and the outbox, are normal on a machine of its own and wrong here.
 */
export function isPublic({ host, publicOrigin }: Pick<Settings, 'host' | 'publicOrigin'>): boolean {
  if (publicOrigin !== undefined) return !isLoopbackHost(new URL(publicOrigin).hostname)
  return !isLoopbackHost(host)
}
