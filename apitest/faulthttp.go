package apitest

import "net/http"

const faultsPath = "/_faults/"

func (s *Server) serveFaults(w http.ResponseWriter, req *http.Request)    { http.NotFound(w, req) }
func (s *Server) serveMeta(w http.ResponseWriter, req *http.Request) bool { return false }
