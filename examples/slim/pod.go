package main

import "k8s.io/apimachinery/pkg/types"

// Pod holds the members of a Pod that this program needs: six strings, which take 96 bytes and
// their text. The API's type takes more than a kilobyte before the first container. Members without
// a field here are skipped while they are read. Strings that repeat, such as the name of a node,
// are in memory once for all Pods.
//
// A store needs the four fields of Metadata from every object.
type Pod struct {
	Metadata struct {
		Namespace       string    `json:"namespace"`
		Name            string    `json:"name"`
		UID             types.UID `json:"uid"`
		ResourceVersion string    `json:"resourceVersion"`
	} `json:"metadata"`
	Spec struct {
		NodeName string `json:"nodeName"`
	} `json:"spec"`
	Status struct {
		Phase string `json:"phase"`
	} `json:"status"`
}

// These make it an object.Object.

func (p *Pod) GetNamespace() string       { return p.Metadata.Namespace }
func (p *Pod) GetName() string            { return p.Metadata.Name }
func (p *Pod) GetUID() types.UID          { return p.Metadata.UID }
func (p *Pod) GetResourceVersion() string { return p.Metadata.ResourceVersion }
