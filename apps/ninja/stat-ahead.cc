/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * For ninja: before it checks the files of a build one after another, it gets the times of all of
 * them, many with one mode switch (libsyscript).
 *
 * These are the files that it will check: the targets' inputs by the manifest and the deps log. For
 * an error other than a missing file, ninja makes its own call and reports it. Before anything is
 * built, unused results are dropped.
 *
 * Without the library, or the module, nothing changes; nor in a build of few files.
 */
#include "ahead.h"

#include <vector>

struct DepsLog;
struct Node;

#ifndef AHEAD_HERE

struct StatAhead {
  StatAhead(const std::vector<Node*>&, DepsLog*) {}
  void Forget() {}
};

#else

#include <fcntl.h>

#include <algorithm>

#include "deps_log.h"
#include "disk_interface.h"
#include "graph.h"

// Files of a batch.
const size_t kAheadMost = 256;

// The kernel's STATX_MTIME.
const unsigned int kAheadMask = 0x40;

struct StatAhead {
  StatAhead(const std::vector<Node*>& targets, DepsLog* deps_log);
  void Forget();

 private:
  typedef int StatMany(int, syscript_file*, size_t, unsigned int, int);

  void Add(Node* node);
  void AddNeeded(Edge* edge, DepsLog* deps_log);
  void Look(StatMany* stat_many);
  void LookAt(StatMany* stat_many, Node* const* nodes, size_t count);

  // In the order in which they were found.
  std::vector<Node*> nodes_;
};

StatAhead::StatAhead(const std::vector<Node*>& targets, DepsLog* deps_log) {
  for (Node* target : targets)
    Add(target);
  for (size_t next = 0; next < nodes_.size(); next++) {
    Edge* edge = nodes_[next]->in_edge();
    // An edge is visited from its first output.
    if (edge && (nodes_[next] == edge->outputs_[0] ||
                 edge->outputs_[0]->ahead() == Node::kNotAhead))
      AddNeeded(edge, deps_log);
  }
  if ((nodes_.size() < AHEAD_KNOWN && !ahead_always()) || !ahead_pays_on(AT_FDCWD, false))
    return;
  void* library = ahead_library();
  if (StatMany* stat_many =
          library ? (StatMany*)dlsym(library, "syscript_stat_many") : NULL)
    Look(stat_many);
}

void StatAhead::Add(Node* node) {
  if (node->ahead() != Node::kNotAhead)
    return;
  node->set_ahead(Node::kUnknownAhead);
  nodes_.push_back(node);
}

void StatAhead::AddNeeded(Edge* edge, DepsLog* deps_log) {
  for (Node* node : edge->outputs_)
    Add(node);
  for (Node* node : edge->inputs_)
    Add(node);
  for (Node* node : edge->validations_)
    Add(node);
  DepsLog::Deps* deps = deps_log->GetDeps(edge->outputs_[0]);
  for (int i = 0; deps && i < deps->node_count; i++)
    Add(deps->nodes[i]);
}

// The library remembers the directories of the last few files.
void StatAhead::Look(StatMany* stat_many) {
  for (size_t first = 0; first < nodes_.size(); first += kAheadMost)
    LookAt(stat_many, &nodes_[first], std::min(kAheadMost, nodes_.size() - first));
  // Commands that are started need the descriptors.
  ahead_end();
}

void StatAhead::LookAt(StatMany* stat_many, Node* const* nodes, size_t count) {
  static syscript_file files[kAheadMost];
  static syscript_stat stats[kAheadMost];
  for (size_t i = 0; i < count; i++) {
    files[i].path = (uintptr_t)nodes[i]->path().c_str();
    files[i].data = (uintptr_t)&stats[i];
  }
  if (stat_many(AT_FDCWD, files, count, kAheadMask, 0) != 0)
    return;
  for (size_t i = 0; i < count; i++) {
    if (files[i].result == -ENOENT || files[i].result == -ENOTDIR)
      nodes[i]->set_ahead(0);
    else if (files[i].result == 0 && stats[i].mask & kAheadMask)
      nodes[i]->set_ahead(RealDiskInterface::ToTimeStamp(stats[i].mtime.tv_sec,
                                                         stats[i].mtime.tv_nsec));
  }
}

void StatAhead::Forget() {
  for (Node* node : nodes_)
    node->set_ahead(Node::kNotAhead);
  nodes_.clear();
}

#endif
