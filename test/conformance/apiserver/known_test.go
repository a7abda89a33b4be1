package apiserver

import "regexp"

// A difference is one between the answers of two servers that stays.
type difference struct {
	name    string
	pattern *regexp.Regexp
}

// known are those between kube-apiserver and apitest. The name of each has a row with the reason in
// apitest/README.md. The pattern is that of a section and a request, "deletes of pods: DELETE
// /api/v1/... BODY [Header: value]"; everything that matches has to differ.
var known = []difference{
	{"namespaces", regexp.MustCompile(`namespaces/none/|^namespaces: .*(\?gone|POST /api/v1/namespaces/\{ns\}x/)`)},
	{"schema", regexp.MustCompile(`^patches of (configmaps|secrets|services|leases|deployments): .* \{"status":\{"phase":"Running"\}\} |POST \S+/(deployments|services|pods) (null|\{\})$|` +
		`"not base64"|"bad key"|"data":\{"n":5\}|POST \S+/pods \{"metadata":\{"name":"r"\}|secrets/s \{.*("type":"other"|"patched")|"immutable":true,"data":\{"a":"c"\}`)},
	{"strategic patches", regexp.MustCompile(`^patches of [^w].*"finalizers":\["nope"\]\}\} \[Content-Type: application/strategic`)},
	{"defaults", regexp.MustCompile(`/persistentvolumeclaims |^special rules: .*/jobs( |/j|\?)`)},
	{"deprecations", regexp.MustCompile(`/endpoints[ /]|(POST|PATCH) \S+widgets.*"finalizers":\["nope"\].*(\}|\[Content-Type: application/merge-patch\+json\])$`)},
	{"validation", regexp.MustCompile(`"ownerReferences":\[\{"name":"x"\}\]`)},
	{"forms", regexp.MustCompile(`(configmaps/none |POST \S+ .*|timeoutSeconds=1 ) \[Accept: application/(json|vnd.kubernetes.protobuf);as=PartialObjectMetadataList|configmaps/a  \[Accept: application/vnd.kubernetes.protobuf;as`)},
	{"discovery", regexp.MustCompile(`GET /apis/example.com/v1 $|GET /api/v1  \[Accept: application/vnd|pods/none/log`)},
	{"custom types", regexp.MustCompile(`HEAD /apis/example|(POST /apis/example.com/v1/namespaces/\{ns\}/widgets/a |PUT /apis/example.com/v1/namespaces/\{ns\}/widgets |PATCH /apis/example.com/v1/namespaces/\{ns\}/widgets )`)},
}

// differenceOf returns the name of the difference that a request is known to have, or "".
func differenceOf(known []difference, section string, r request) string {
	for _, k := range known {
		if k.pattern.MatchString(r.line(section)) {
			return k.name
		}
	}
	return ""
}

// line is a request as the patterns have it.
func (r request) line(section string) string {
	text := section + ": " + r.method + " " + r.path + " " + r.body
	for _, h := range r.header {
		text += " [" + h + "]"
	}
	return text
}
