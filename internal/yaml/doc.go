// Package yaml reads configuration files: kubeconfigs, that is. [Parse] makes a tree of
// what is written, and [Node.Decode] puts a tree into a struct by its json tags, as
// sigs.k8s.io/yaml does, at a tenth of its size in a program.
//
// It knows what such files are written with: block and flow collections, which include
// JSON, every kind of scalar with its folding, comments, anchors, aliases, merge keys and
// the tags of the core schema. It refuses keys that are no scalars, and tags of other
// kinds. Of several documents it reads the first. The grammar: https://yaml.org/spec/1.1/
//
// No error quotes what is in the file: it may be a token.
package yaml
