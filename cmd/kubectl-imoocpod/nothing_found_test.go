package main

import "testing"

// Where nothing matches, a verb that reads or takes away is done, and one that changes
// something has an error. Each says so in the same words as its like.
func TestNothingMatches(t *testing.T) {
	t.Parallel()
	s := serveObjects(t, []resourceType{{"apps/v1", "deployments", "Deployment", true, true}, {"v1", "pods", "Pod", true, false}})
	const none, missing = "No resources found in default namespace.\n", "error: no matching resources found\n"
	for line, want := range map[string]result{
		"status deployments -l app=x":                       {exitDone, "", none},
		"status deployments -l app=x --wait":                {exitDone, "", none},
		"describe deployments -l app=x":                     {exitDone, "", none},
		"history deployments -l app=x":                      {exitDone, "", none},
		"logs deployments -l app=x":                         {exitDone, "", none},
		"delete deployments -l app=x":                       {exitDone, "", none},
		"wait deployments -l app=x -A --for=delete":         {exitDone, "", "No resources found.\n"},
		"park deployments -l app=x":                         {exitDone, "", none},
		"park -l app=x":                                     {exitDone, "", none},
		"unpark deployments -l app=x":                       {exitDone, "", none},
		"wait deployments -l app=x --for=delete":            {exitDone, "", none},
		"wait deployments -l app=x":                         {exitError, "", missing},
		"wait deployments -l app=x --for=create":            {exitError, "", missing},
		"scale deployments -l app=x --replicas 1":           {exitError, "", missing},
		"restart deployments -l app=x":                      {exitError, "", missing},
		"pause deployments -l app=x":                        {exitError, "", missing},
		"resume deployments -l app=x":                       {exitError, "", missing},
		"undo deployments -l app=x":                         {exitError, "", missing},
		"set image deployments -l app=x nginx":              {exitError, "", missing},
		"set env deployments -l app=x A=B":                  {exitError, "", missing},
		"set resources deployments -l app=x --limits cpu=1": {exitError, "", missing},
	} {
		if o := runCommand(t.Context(), t, s.URL, line); o != want {
			t.Errorf("%s: %+v, want %+v", line, o, want)
		}
	} // An object that is named and gone is what was waited for.
	if o := runCommand(t.Context(), t, s.URL, "wait -f testdata/gone.yaml --for=delete"); o.code != exitDone || o.stdout != "deployment.apps/gone condition met\n" {
		t.Errorf("%+v", o)
	}
}
