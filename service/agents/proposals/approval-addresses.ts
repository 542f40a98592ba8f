/** Where people see everything that waits in a workspace. */
export function approvalQueueUrl(origin: string, workspaceId: number): string {
  return `${origin}/workspaces/${workspaceId}/approvals`
}

/** Where they see one batch and decide on it. */
export function inboxUrl(
  origin: string,
  { workspaceId, batchId }: { workspaceId: number; batchId: number },
): string {
  return `${approvalQueueUrl(origin, workspaceId)}/${batchId}`
}
