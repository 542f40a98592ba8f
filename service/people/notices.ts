/**
 * What a page says after something was done, by the word in its query. Fixed sentences: a link can
 * make our pages say one of these, and nothing else.
 */
const NOTICES: Record<string, string> = {
  password_reset: 'Your password is changed, and you are signed out everywhere. Sign in with it.',
  password_changed: 'Your password is changed, and you are signed out everywhere else.',
  session_ended: 'That session is ended.',
  signed_out: 'You are signed out.',
  provider_refused: 'Signing in there did not work. Try again, or use another way.',
  workspace_created: 'The workspace is made. Add the ad account that it is for.',
  invited: 'The invitation is on its way.',
  invitation_withdrawn: 'The invitation is withdrawn.',
  invitation_declined: 'You declined the invitation.',
  role_changed: 'The role is changed.',
  member_removed: 'They do not belong to this workspace any more.',
  left: 'You left the workspace.',
  joined: 'You belong to this workspace now.',
  account_added: 'The ad account is added.',
  account_disabled: 'The ad account is disabled: whatever was bound to it has stopped.',
  account_enabled: 'The ad account is enabled.',
}

/** The sentence that a query asks for; undefined without one. */
export function noticeOf(query: unknown): string | undefined {
  const name = (query as { done?: unknown } | null)?.done
  return typeof name === 'string' && Object.hasOwn(NOTICES, name) ? NOTICES[name] : undefined
}
