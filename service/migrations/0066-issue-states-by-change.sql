-- What people decided about issues expires by the time of the decision.
create index issue_states_by_change on signalbox_store.issue_states (tracker_id, changed_at);
