using System.Collections.Generic;

namespace Ilinst
{
    /// <summary>
    /// ILINST_AUTOMUTE: what is called so often, and takes less than its probes, is counted on, but no longer timed: to time it
    /// only misleads.
    /// </summary>
    internal static unsafe class Automute
    {
        private static long callsPerSecond;
        private static long lastLook;
        /// <summary>By a node: how often it had been called at the last look.</summary>
        private static Dictionary<long, long> calls;

        public static void Start()
        {
            callsPerSecond = Settings.Automute();
            calls = new Dictionary<long, long>();
            lastLook = Clock.Now();
        }

        /// <summary>Called about once a second: looks for such nodes.</summary>
        public static void Look()
        {
            long now = Clock.Now();
            if (callsPerSecond > 0 && Mode.Kind == RecordingMode.Exact && now > lastLook)
            {
                double seconds = (double)(now - lastLook) / Clock.Frequency;
                Arena.ForEach(delegate(ChunkHeader* chunk) { Look(chunk, seconds); });
                lastLook = now;
            }
        }

        private static void Look(ChunkHeader* chunk, double seconds)
        {
            byte* end = (byte*)chunk + Arena.Used(chunk);
            for (byte* at = (byte*)chunk + NodeLayout.FirstAt; chunk->Kind == ChunkKind.Nodes && at < end; at += NodeLayout.Size)
            {
                CallNode* node = (CallNode*)at;
                if ((node->Flags & NodeChunk.NoNode) == 0 && node->Stats != 0)
                {
                    long before;
                    calls.TryGetValue((long)node, out before);
                    calls[(long)node] = node->Calls;
                    bool isOften = node->Calls - before > callsPerSecond * seconds;
                    // By the clock, with other processes' turns.
                    double stretch = ThreadClock.Stretch((CallTree*)chunk->Tree);
                    double inside = Arena.Header->CostInside * stretch;
                    double cost = inside + Arena.Header->CostOutside * stretch;
                    if (isOften && node->Total - inside * node->Leaves < cost * node->Leaves)
                    {
                        // Its thread mutes it when it leaves it: that goes by the slow path now.
                        node->ColdStats = node->Stats;
                        node->Flags |= NodeFlags.ToBeMuted;
                        node->Stats = 0;
                    }
                }
            }
        }

        /// <summary>The node's thread no longer times it.</summary>
        public static void Mute(CallNode* node)
        {
            node->Flags = node->Flags & ~NodeFlags.ToBeMuted | NodeFlags.Muted;
            CallNode* caller = (CallNode*)node->Caller;
            if (caller->Callees == (long)node && CalleeIndex.Reserve(caller))
            {
                // The hot path must not find it, the index does.
                caller->Callees = 0;
            }
        }
    }
}
