package discovery

import (
	"context"
	"fmt"
	"io"

	"github.com/go-json-experiment/json"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/relist-go/relist/transport"
)

// acceptAggregated asks for everything in one answer, which servers give since 1.26
// (v2 since 1.30), and accepts the answer of an older server, too.
// Source: https://kubernetes.io/docs/concepts/overview/kubernetes-api/#aggregated-discovery
const acceptAggregated = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList," +
	"application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList,application/json"

// kindAggregated is the kind of such an answer. The Content-Type says so too, but a
// proxy may have lost its parameters.
const kindAggregated = "APIGroupDiscoveryList"

// maxDiscovery bounds one answer: clusters with hundreds of custom types send a few MB.
const maxDiscovery = 64 << 20

// fetch reads the part of the server's discovery that q needs: the core group, and the
// other groups unless q finds its resource in the core group.
func fetch(ctx context.Context, client *transport.Client, q query) (*catalog, error) {
	c := &catalog{}
	if err := c.addRoot(ctx, client, "/api", q); err != nil {
		return nil, err
	}
	if c.find(q) != nil && len(q.readings) == 0 {
		return c, nil
	}
	if err := c.addRoot(ctx, client, "/apis", q); err != nil {
		return nil, err
	}
	return c, nil
}

// fetchAll reads all of the server's discovery.
func fetchAll(ctx context.Context, client *transport.Client) (*catalog, error) {
	c := &catalog{}
	for _, path := range []string{"/api", "/apis"} {
		if err := c.addRoot(ctx, client, path, query{}); err != nil {
			return nil, err
		}
	}
	return c, nil
}

// root is an answer to /api or /apis, of either kind.
type root struct {
	Kind     string            `json:"kind"`
	Items    []aggregatedGroup `json:"items"`    // aggregated
	Versions []string          `json:"versions"` // /api
	Groups   []metav1.APIGroup `json:"groups"`   // /apis
}

func (c *catalog) addRoot(ctx context.Context, client *transport.Client, path string, q query) error {
	var answer root
	if err := get(ctx, client, path, acceptAggregated, &answer); err != nil {
		return err
	}
	switch {
	case answer.Kind == kindAggregated:
		for _, group := range answer.Items {
			c.addAggregated(group)
		}
		return nil
	case answer.Kind == "APIVersions", answer.Kind == "APIGroupList", answer.Versions != nil, answer.Groups != nil:
	default:
		return fmt.Errorf("discover what the server serves: the answer to %s is not what an API server sends (is the address right?)", path)
	}
	var versions []schema.GroupVersion
	for _, v := range answer.Versions {
		versions = append(versions, schema.GroupVersion{Version: v})
	}
	for _, group := range answer.Groups {
		versions = append(versions, preferredFirst(group)...)
	}
	return c.addVersions(ctx, client, versions, q)
}

// get reads one JSON answer.
func get(ctx context.Context, client *transport.Client, path, accept string, into any) (err error) {
	resp, err := client.Get(ctx, transport.Request{Path: path, Accept: accept})
	if err != nil {
		return fmt.Errorf("discover what the server serves: %w", err)
	}
	defer func() {
		if closeErr := resp.Body.Close(); err == nil && closeErr != nil {
			err = fmt.Errorf("discover what the server serves: %w", closeErr)
		}
	}()
	if resp.MediaType != "application/json" {
		return fmt.Errorf("discover what the server serves: %w", resp.UnexpectedContent())
	}
	if err := json.UnmarshalRead(io.LimitReader(resp.Body, maxDiscovery), into, json.MatchCaseInsensitiveNames(false)); err != nil {
		return fmt.Errorf("discover what the server serves: the answer to %s is not what an API server sends (is the address right?): %w", path, err)
	}
	return nil
}
