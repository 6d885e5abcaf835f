package cmd

// validateSlots refuses what cannot be meant by --remove and --reuse.
func (o *scaleOptions) validateSlots() error {
	if len(o.change.Remove) == 0 {
		if o.change.Reuse && (o.group != "" || o.path != nil) {
			return usageErrorf("--reuse cannot be used together with --group or --replicas-path")
		}
		return nil
	}
	for _, flag := range []string{"replicas", "by", "reuse", "group", "replicas-path"} {
		if o.limits.given(flag) {
			return usageErrorf("--remove and --%s cannot be used together", flag)
		}
	}
	seen := map[string]bool{}
	for _, pod := range o.change.Remove {
		if problem := nameProblem(pod); problem != "" {
			return usageErrorf("invalid pod name %q: %s", pod, problem)
		}
		if seen[pod] {
			return usageErrorf("--remove names pod %s twice", pod)
		}
		seen[pod] = true
	}
	return nil
}
