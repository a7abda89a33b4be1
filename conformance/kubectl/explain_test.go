package kubectl

import (
	"regexp"
	"slices"
	"strings"
	"testing"
)

// explained is a field in what kubectl explain --recursive prints, indented, and its type.
var explained = regexp.MustCompile(`(?m)^( +\w[\w.$-]*)\t<([^>]*)>`)

// changed is an alpha field whose type is another in the k8s.io/api that apitest's table is made of.
const changed = "status.nodeAllocatableResourceClaimStatuses.resources map[string]Quantity"

// testExplain looks for each field of the real server's, with its type, in what kubectl explain prints of apitest. That may
// have fields of a newer version, and says neither what fields mean nor which are required.
func testExplain(t *testing.T, ours, theirs *shell) {
	for _, kind := range []string{"pods", "configmaps", "deployments", "services", "secrets", "namespaces", "jobs", "leases", "roles", "nodes.spec"} {
		t.Run(kind, func(t *testing.T) {
			fields := func(s *shell) []string {
				var path, all []string
				for _, match := range explained.FindAllStringSubmatch(s.run(t, "", "explain", kind, "--recursive"), -1) {
					name := strings.TrimLeft(match[1], " ")
					path = append(path[:min(len(path), (len(match[1])-len(name))/2-1)], name)
					all = append(all, strings.Join(path, ".")+" "+match[2])
				}
				return all
			}
			want, got := fields(theirs), fields(ours)
			var missing []string
			for _, field := range want {
				if !slices.Contains(got, field) && field != changed {
					missing = append(missing, field)
				}
			}
			if len(want) == 0 || len(missing) > 0 {
				t.Errorf("%d fields, want %d; missing, or of another type:\n%s", len(got), len(want), strings.Join(missing, "\n"))
			}
		})
	}
}
