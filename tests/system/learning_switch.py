"""A learning switch for OpenFlow 1.3, as a controller: what the system tests run under osken-manager.

What no rule knows comes to the controller, which learns from the source address where a station is.  A packet to a
station that is known gets a rule for those that follow it, and leaves at once; another one is flooded.
"""

from os_ken.base import app_manager
from os_ken.controller import ofp_event
from os_ken.controller.handler import CONFIG_DISPATCHER, MAIN_DISPATCHER, set_ev_cls
from os_ken.lib.packet import ethernet, packet
from os_ken.ofproto import ofproto_v1_3

TO_CONTROLLER = 0  # Priorities.
LEARNED = 100
IDLE_SECONDS = 60


class LearningSwitch(app_manager.OSKenApp):
    OFP_VERSIONS = [ofproto_v1_3.OFP_VERSION]

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.stations = {}  # (datapath id, address) -> port

    @staticmethod
    def add_rule(datapath, priority, match, actions, idle_timeout=0):
        parser = datapath.ofproto_parser
        apply_actions = parser.OFPInstructionActions(datapath.ofproto.OFPIT_APPLY_ACTIONS, actions)
        datapath.send_msg(parser.OFPFlowMod(datapath=datapath, priority=priority, match=match,
                                            instructions=[apply_actions], idle_timeout=idle_timeout))

    @set_ev_cls(ofp_event.EventOFPSwitchFeatures, CONFIG_DISPATCHER)
    def switch_connected(self, event):
        datapath = event.msg.datapath
        ofproto, parser = datapath.ofproto, datapath.ofproto_parser
        everything = [parser.OFPActionOutput(ofproto.OFPP_CONTROLLER, ofproto.OFPCML_NO_BUFFER)]
        self.add_rule(datapath, TO_CONTROLLER, parser.OFPMatch(), everything)

    @set_ev_cls(ofp_event.EventOFPPacketIn, MAIN_DISPATCHER)
    def packet_in(self, event):
        msg = event.msg
        datapath, in_port = msg.datapath, msg.match['in_port']
        ofproto, parser = datapath.ofproto, datapath.ofproto_parser
        eth = packet.Packet(msg.data).get_protocols(ethernet.ethernet)[0]

        self.stations[datapath.id, eth.src] = in_port
        out_port = self.stations.get((datapath.id, eth.dst), ofproto.OFPP_FLOOD)
        actions = [parser.OFPActionOutput(out_port)]
        if out_port != ofproto.OFPP_FLOOD:
            match = parser.OFPMatch(in_port=in_port, eth_src=eth.src, eth_dst=eth.dst)
            self.add_rule(datapath, LEARNED, match, actions, IDLE_SECONDS)
        datapath.send_msg(parser.OFPPacketOut(datapath=datapath, buffer_id=ofproto.OFP_NO_BUFFER, in_port=in_port,
                                              actions=actions, data=msg.data))
